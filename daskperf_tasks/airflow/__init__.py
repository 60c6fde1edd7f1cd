"""The chain as Airflow tasks, and the browser below Airflow's web server.

``forms`` says what a run may be asked for, ``bodies`` is what each task does,
``chain`` wires them, ``store_access`` turns a connection into credentials,
``links`` leads from a task to the run's page, ``web`` opens the browser.
"""
