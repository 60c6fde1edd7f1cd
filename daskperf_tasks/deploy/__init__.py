"""Wheel sources, installing wheels side by side on a lane's hosts, switching, restoring."""
