"""The data that stages exchange: frozen classes, ids, metrics and their JSON.

Imports nothing of the rest of daskperf except the errors.
"""
