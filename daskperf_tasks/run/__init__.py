"""The measuring protocol and the driver that owns clients and environments."""
