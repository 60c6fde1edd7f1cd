"""Experiments: from the blocks of their cells to tables, fits, knees and conclusions. Pure.

A file a kind of experiment; what they share is in ``seen`` (what was measured
of a point), ``resample`` and ``linear`` (fits with intervals), ``compare``
(which is faster), ``evidence`` (where the time went) and ``words``.
"""
