"""The web application over the artifact store: runs, a run's report, its artifacts.

It reads only. ``app`` is the application on its own; ``airflow_app`` puts it
below Airflow's web server and behind Airflow's sign-in.
"""
