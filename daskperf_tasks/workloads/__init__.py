"""One file a workload, and the registry that finds users' own by entry points."""
