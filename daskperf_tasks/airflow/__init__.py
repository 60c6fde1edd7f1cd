"""The chain as Airflow tasks: the only package that imports Airflow, and only the DAGs import it.

``forms`` says what a run may be asked for, ``bodies`` is what each task does,
``chain`` wires them, ``store_access`` turns a connection into credentials,
``links`` leads from a task to the run's page.
"""
