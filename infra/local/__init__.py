"""The embedded stack: object server, Dask and Airflow as processes on loopback.

``stack`` decides and acts, ``services`` says what there is to run, ``state``
knows the folder that everything is kept in, ``processes`` tells our processes
from other people's.
"""
