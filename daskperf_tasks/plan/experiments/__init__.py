"""Experiments: one file a kind, from its options to points, prediction and cells. Pure."""
