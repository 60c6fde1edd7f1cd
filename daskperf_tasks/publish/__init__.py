"""Upload with read-back, the history index, notification."""
