"""Talking to a lane's scheduler, nannies and workers within time limits."""
