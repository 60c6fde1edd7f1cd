"""Non-negative least squares on makespans, with bootstrap draws of every parameter.

Each model here is linear in parameters that cannot be negative (seconds of
work, seconds of overhead). Errors of makespans are relative, so every equation
is divided by its own makespan.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from daskperf_tasks.analyse.experiments.resample import Medians
from daskperf_tasks.analyse.intervals import BOOTSTRAP_SEED, Floats
from daskperf_tasks.model.measured import Missing

#: A fit that misses its points by more than this (relative, root mean square) and by more
#: than three times their noise is refused.
MISFIT = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters of a linear model."""

    #: Shape (parameters,).
    value: Floats
    #: Shape (draws, parameters).
    draws: Floats
    #: How far the fit misses its points, relative, root mean square; None when there are
    #: as many parameters as points, so that it cannot miss.
    misfit: float | None


def fit(columns: Floats, points: Medians) -> Fit | Missing:
    """Fit ``makespan = columns @ parameters`` with parameters that are not negative.

    Parameters
    ----------
    columns
        Shape (points, parameters).
    points
        The makespans.

    Notes
    -----
    What the model misses beyond the points' noise goes into the draws as a
    further relative scatter of each point, so that the intervals hold it, too.
    """
    count, size = columns.shape
    if count < size:
        return Missing(
            missing=f"{size} parameters need at least {size} measured points, there are {count}"
        )
    if np.linalg.matrix_rank(columns / np.abs(columns).max(axis=0), tol=1e-9) < size:
        return Missing(missing="the points do not differ in what the parameters tell apart")
    design = columns / points.value[:, None]
    value = nonnegative(design, np.ones((1, count)))[0]
    relative = points.draws / points.value
    misfit: float | None = None
    if count > size:
        misfit = float(np.sqrt(np.sum((design @ value - 1.0) ** 2) / (count - size)))
        typical = float(np.sqrt(np.mean(points.noise**2)))
        if misfit > MISFIT and misfit > 3 * typical:
            return Missing(
                missing=f"the model misses the points by {misfit:.0%}, far more than their noise "
                f"of {typical:.1%}"
            )
        excess = float(np.sqrt(max(0.0, misfit**2 - typical**2)))
        rng = np.random.default_rng(BOOTSTRAP_SEED)
        relative = relative * np.exp(excess * rng.standard_normal(relative.shape))
    return Fit(value=value, draws=nonnegative(design, relative), misfit=misfit)


def nonnegative(design: Floats, targets: Floats) -> Floats:
    """Solve non-negative least squares for many targets of one design.

    The solution is the plain least squares solution of some subset of the
    columns, with the others 0 (Lawson and Hanson 1974, chapter 23); for the two
    or three columns here all subsets are tried at once.

    Parameters
    ----------
    design
        Shape (points, parameters).
    targets
        Shape (targets, points).

    Returns
    -------
    array of shape (targets, parameters)
    """
    size = design.shape[1]
    best = np.zeros((len(targets), size))
    least = np.sum(targets**2, axis=1)
    for length in range(1, size + 1):
        for chosen in combinations(range(size), length):
            part = design[:, chosen]
            found = targets @ np.linalg.pinv(part).T
            left = np.sum((targets - found @ part.T) ** 2, axis=1)
            better = np.all(found >= 0, axis=1) & (left < least)
            least = np.where(better, left, least)
            full = np.zeros_like(best)
            full[:, chosen] = found
            best = np.where(better[:, None], full, best)
    return best
