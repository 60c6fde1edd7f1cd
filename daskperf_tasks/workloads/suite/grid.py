"""Air temperature on a grid, as smooth as a climate's and with noise; made block by block.

Shaped like the data set of xarray's tutorial (two years, every six hours, 25 latitudes,
53 longitudes, float32 in steps of 0.01 K), which must be downloaded; this one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskperf_tasks.workloads.suite.hashes import words_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS, LATITUDES, LONGITUDES = 2_920, 25, 53
START = "2013-01-01"
STEP_H = 6
_A_YEAR = 1_461
_NOISE_K = 3.0


def air_block(
    seed: int, steps: int, latitudes: tuple[int, int], longitudes: tuple[int, int]
) -> NDArray[Any]:
    """Return all times of some columns of air, in K; runs where the task runs.

    Parameters
    ----------
    latitudes, longitudes
        First index and the one after the last.

    Returns
    -------
    ndarray
        float32 of shape (steps, latitudes, longitudes); an element depends on the seed
        and its three indices alone.
    """
    import numpy as np

    t = np.arange(steps, dtype=np.uint64)[:, None, None]
    lat = np.arange(*latitudes, dtype=np.uint64)[None, :, None]
    lon = np.arange(*longitudes, dtype=np.uint64)[None, None, :]
    index = (t * np.uint64(LATITUDES) + lat) * np.uint64(LONGITUDES) + lon
    noise = (words_at(seed, 0, index) >> np.uint64(40)) * 2.0**-24 - 0.5
    north = lat / LATITUDES
    mean = 300 - 35 * north + 3 * np.sin(2 * np.pi * lon / LONGITUDES)
    year = -(2 + 14 * north) * np.cos(2 * np.pi * (t / _A_YEAR))
    day = -2 * np.cos(2 * np.pi * (t / 4 + lon / 365))
    kelvin: NDArray[Any] = mean + year + day + 2 * _NOISE_K * noise
    return np.round(kelvin, 2).astype(np.float32)
