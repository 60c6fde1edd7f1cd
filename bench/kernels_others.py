"""The kernels in other languages for ``kernels.py``: compiled, installed, and called alike."""

from __future__ import annotations

import ast
import ctypes
import importlib
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".daskperf" / "bench"
NUMBA = "numba==0.68.1"

Cluster = tuple[Any, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """Both kernels in one language."""

    name: str
    integrate: Callable[[int, float], float]
    aggregate: Callable[[int, int], Cluster]


def compile_args() -> list[str]:
    """Return COMPILE_ARGS of kernels/setup.py, which cannot be imported: it builds."""
    names: dict[str, Any] = {"DEBUG": False}
    for node in ast.parse((ROOT / "kernels" / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("ALWAYS", "COMPILE_ARGS"):
                names[name] = eval(compile(ast.Expression(node.value), name, "eval"), dict(names))
    return list(names["COMPILE_ARGS"])


def in_c(folder: Path) -> Kernels:
    """Compile kernels_c.c as setuptools compiles the Cython modules."""
    library = folder / "kernels_c.so"
    base = [*shlex.split(sysconfig.get_config_var("CC")), *shlex.split(
        sysconfig.get_config_var("CFLAGS"))]  # fmt: skip
    source = Path(__file__).with_name("kernels_c.c")
    command = [*base, "-fPIC", *compile_args(), "-shared", str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    print("C: compiled with", " ".join(command[:-5]))
    functions = ctypes.CDLL(str(library))
    functions.integrate.argtypes = [ctypes.c_longlong, ctypes.c_double]
    functions.integrate.restype = ctypes.c_double
    functions.aggregate.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p]
    functions.aggregate.restype = ctypes.c_double

    def aggregate(n: int, seed: int) -> Cluster:
        positions = np.empty((n, 3))
        radius = functions.aggregate(n, seed, positions.ctypes.data)
        if radius < 0.0:
            raise MemoryError("kernels_c.c: no memory")
        return positions, radius

    return Kernels(name="C", integrate=functions.integrate, aggregate=aggregate)


def in_numba() -> Kernels | None:
    """Return the kernels in Numba, installed beside the environment; None says why on the way."""
    version = f"{NUMBA}-numpy-{np.__version__}-{sys.implementation.cache_tag}"
    folder = CACHE / version.replace("==", "-")
    try:
        importlib.import_module("numba")
    except ImportError:
        reason = "" if folder.is_dir() else _install(folder)
        if reason:
            print(f"Numba: left out, it cannot be installed: {reason}")
            return None
        sys.path.append(str(folder))  # last, so that numpy stays the environment's
    try:
        kernels: Any = importlib.import_module("kernels_numba")
    except ImportError as error:
        print(f"Numba: left out, it does not load with numpy {np.__version__}: {error}")
        return None
    print(f"Numba: {importlib.import_module('numba').__version__}, for this processor")
    return Kernels(
        name="Numba",
        integrate=kernels.integrate,
        aggregate=lambda n, seed: kernels.aggregate(n, np.uint64(seed)),
    )


def _install(folder: Path) -> str:
    """Install into a folder of its own, whole or not at all; return what went wrong."""
    uv = Path(sys.executable).with_name("uv")
    tool = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
    part = folder.with_name(folder.name + ".part")
    command = [*tool, "install", "-q", "--target", str(part), NUMBA, f"numpy=={np.__version__}"]
    if uv.exists():
        command += ["--python", sys.executable]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip()[-400:]
    part.rename(folder)
    return ""
