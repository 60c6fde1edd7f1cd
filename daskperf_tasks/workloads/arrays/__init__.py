"""Workloads on Dask arrays: neighbour exchange, rechunking, sliding windows, column means."""
