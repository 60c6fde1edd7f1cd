import numpy as np
import numpy.typing as npt

def aggregate(n: int, seed: int) -> tuple[npt.NDArray[np.float64], float]: ...
