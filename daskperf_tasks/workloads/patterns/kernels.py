"""What a task does, iteration by iteration; each kernel returns a digest of its work.

A digest depends on the kernel and its number of iterations alone, so that a check
need not repeat the work of every task. The loops are calls of NumPy on arrays that are
large enough for it to release the GIL: threads can run them side by side.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from daskperf_tasks.workloads.patterns.dependences import FOR_IMBALANCE, drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KERNELS = ("compute", "memory", "imbalance", "empty")
#: Floats of the compute kernel: 24 KiB, which fits the first-level data cache of a core.
LANES = 3_072
#: Floats that an iteration of the memory kernel reads, and as many that it writes.
WINDOW = 16_384
#: Bytes that an iteration of the memory kernel reads and writes.
WINDOW_BYTES = 2 * 8 * WINDOW
#: Step between the places that the memory kernel reads again; odd, so that all come up.
_STRIDE = 7_919

_scratch = threading.local()


def iterations(kernel: str, grain: int, seed: int, step: int, column: int) -> int:
    """Return how many iterations a task runs.

    ``grain``; for ``imbalance`` a whole number drawn evenly from 0 to ``2 * grain``, which
    is ``grain`` on average; for ``empty`` none.

    Examples
    --------
    >>> iterations("compute", 8, 0, 3, 4), iterations("empty", 1, 0, 3, 4)
    (8, 0)
    >>> [iterations("imbalance", 8, 0, 3, column) for column in range(4)]
    [4, 13, 14, 12]
    """
    if kernel == "empty":
        return 0
    if kernel == "imbalance":
        return drawn(seed, step, column, FOR_IMBALANCE) % (2 * grain + 1)
    return grain


def run_kernel(kernel: str, count: int, scratch_mib: int) -> int:
    """Do ``count`` iterations and return their digest, a number below 2^64."""
    if kernel == "empty":
        return 0
    return stream(count, scratch_mib) if kernel == "memory" else compute(count)


def first_lanes() -> NDArray[np.float64]:
    """Return the state in which the compute kernel starts, exact in binary."""
    import numpy as np

    return np.arange(1, LANES + 1, dtype=np.float64) / (2 * LANES + 2)


def compute(count: int) -> int:
    """Apply x -> 1 - 2 sqrt(abs(x)) to every lane ``count`` times.

    Notes
    -----
    The map is chaotic on [-1, 1]: each iteration changes the digest. It uses only operations
    that IEEE 754 rounds in one way, so the digest is the same on every processor.
    """
    import numpy as np

    lanes = first_lanes()
    for _ in range(count):
        np.abs(lanes, out=lanes)
        np.sqrt(lanes, out=lanes)
        np.multiply(lanes, -2.0, out=lanes)
        np.add(lanes, 1.0, out=lanes)
    return int(lanes.view(np.uint64).sum(dtype=np.uint64))


def stream(count: int, scratch_mib: int) -> int:
    """Read a window of one array, scale it into another, and go on to the next window.

    Notes
    -----
    STREAM's "scale". Each thread keeps its two arrays, ``scratch_mib`` MiB together, and goes
    on where its last task stopped: a window has left the caches by the time it comes up again
    if the arrays are larger than they are. One number of each window written is read back
    into the digest; in the k-th iteration it is k times its place in the window.
    """
    import numpy as np

    source, target, windows, position = _arrays(scratch_mib)
    digest = 0
    for k in range(1, count + 1):
        start = (position + k) % windows * WINDOW
        np.multiply(source[start : start + WINDOW], float(k), out=target[start : start + WINDOW])
        digest += int(target[start + stream_place(k)])
    _scratch.position = (position + count) % windows
    return digest % 2**64


def stream_place(k: int) -> int:
    """Return the place in its window that the k-th iteration of ``stream`` reads back."""
    return k * _STRIDE % WINDOW


def _arrays(scratch_mib: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int]:
    """Return this thread's source and target, how many windows they hold, and the position."""
    import numpy as np

    windows = scratch_mib * 2**20 // WINDOW_BYTES
    kept: tuple[NDArray[np.float64], NDArray[np.float64]] | None = getattr(_scratch, "kept", None)
    if kept is None or len(kept[0]) != windows * WINDOW:
        places = np.arange(WINDOW, dtype=np.float64)
        kept = np.tile(places, windows), np.zeros(windows * WINDOW)
        _scratch.kept, _scratch.position = kept, 0
    return *kept, windows, int(_scratch.position)
