from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from daskperf_tasks.errors import StoreError
from daskperf_tasks.store.filesystem import FilesystemStore


def test_only_the_first_of_racing_writers_wins(folder: FilesystemStore) -> None:
    refused: list[int] = []
    start = threading.Barrier(8)

    def write(n: int) -> None:
        start.wait()
        try:
            folder.put("contended", b"%d" % n)
        except StoreError:
            refused.append(n)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert int(folder.get("contended")) not in refused


def test_a_writer_killed_in_mid_write_leaves_no_object(tmp_path: Path) -> None:
    """SIGKILL at random moments: whole objects or none, and the rest still works."""
    writer = (
        "import sys\n"
        "from daskperf_tasks.store.filesystem import FilesystemStore\n"
        "store = FilesystemStore(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "for n in range(10**6):\n"
        "    store.put(f'd/{n}', bytes([n % 256]) * 1_000_000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob("d/.*.part")) and time.monotonic() < deadline:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    store = FilesystemStore(tmp_path)
    for entry in store.list(""):
        assert entry.size_bytes == 1_000_000
        assert store.get(entry.key) == bytes([int(entry.key[2:]) % 256]) * 1_000_000


def test_what_a_dead_writer_left_is_cleared_away_with_its_folder(folder: FilesystemStore) -> None:
    folder.put("run/x", b"1")
    left = folder.root / "run" / ".0123456789abcdef.part"
    left.write_bytes(b"half")
    assert [o.key for o in folder.list("")] == ["run/x"]
    folder.delete("run/x")
    assert left.exists(), "a young one may still be written"
    folder.put("run/x", b"1")
    os.utime(left, (0, 0))
    folder.delete("run/x")
    assert not (folder.root / "run").exists()


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = FilesystemStore(tmp_path / "file")
    with pytest.raises(StoreError, match="could not write") as caught:
        store.put("a/b", b"")
    assert str(tmp_path / "file") in str(caught.value)
    assert list(store.list("")) == []


def test_it_needs_the_standard_library_only() -> None:
    code = (
        "import sys; import daskperf_tasks.store.filesystem\n"
        "import daskperf_tasks.store.open, daskperf_tasks.store.manifest\n"
        "heavy = {'boto3', 'botocore', 'pandas', 'pyarrow', 'numpy', 'dask', 'packaging'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
