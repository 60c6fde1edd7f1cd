from __future__ import annotations

import subprocess
import sys

import pytest

from daskperf_tasks.collect.memory import peak_rss_bytes, reset_peak_rss

MIB = 2**20


def test_the_peak_outlives_what_was_freed_until_it_is_reset() -> None:
    assert reset_peak_rss()
    before = peak_rss_bytes()
    block = bytearray(b"\1") * (80 * MIB)
    del block
    peak = peak_rss_bytes()
    assert peak - before > 60 * MIB
    assert reset_peak_rss()
    assert peak_rss_bytes() < peak - 60 * MIB


def test_another_process() -> None:
    code = "import sys; b = bytearray(b'x') * (60 * 2**20); del b; print('go', flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        peak = peak_rss_bytes(child.pid)
        assert peak > 60 * MIB
        assert reset_peak_rss(child.pid)
        assert peak_rss_bytes(child.pid) < peak - 40 * MIB
    finally:
        child.communicate(b"\n")


def test_a_process_that_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(OSError, match="no process"):
        peak_rss_bytes(child.pid)
    assert reset_peak_rss(child.pid) is False
