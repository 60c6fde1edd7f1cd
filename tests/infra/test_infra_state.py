from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from infra_helpers import until

from daskperf_infra.local.processes import Identity
from daskperf_infra.local.state import (
    Layout,
    StackState,
    Started,
    find_layout,
    load_state,
    locked,
    save_state,
)
from daskperf_tasks.errors import StackError


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(home=tmp_path / "state", checkout=tmp_path)
    found.make()
    return found


def _state() -> StackState:
    started = Started(
        name="lane-a",
        identity=Identity(pid=7, start_ticks=8, boot_id="b"),
        command=("dask", "worker"),
        log="/l",
        url="tcp://127.0.0.1:1",
        started_s=1.5,
        fingerprint="f",
    )
    return StackState(
        stack_id="i", ports={"dask-scheduler": 1}, services={"lane-a": started}, notes={"n": "x"}
    )


def test_the_record_is_read_as_it_was_written(layout: Layout) -> None:
    save_state(layout, _state())
    assert load_state(layout) == _state()
    assert layout.stack_file.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in layout.home.iterdir() if p.name.startswith(".")] == []


def test_stacks_that_were_never_started_have_ids_of_their_own(layout: Layout) -> None:
    assert load_state(layout).stack_id != load_state(layout).stack_id


@pytest.mark.parametrize("change", [{"version": 99}, {"services": [{}]}, {"ports": 3}])
def test_a_record_that_cannot_be_read_is_named(layout: Layout, change: dict[str, object]) -> None:
    save_state(layout, _state())
    data = json.loads(layout.stack_file.read_text())
    layout.stack_file.write_text(json.dumps({**data, **change}))
    with pytest.raises(StackError, match=r"stack\.json"):
        load_state(layout)


def test_the_folder_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DASKPERF_HOME", str(tmp_path / "there"))
    assert find_layout().home == tmp_path / "there"
    assert find_layout(tmp_path / "here").home == tmp_path / "here"
    monkeypatch.delenv("DASKPERF_HOME")
    assert find_layout().home == find_layout().checkout / ".daskperf"


def test_a_checkout_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DASKPERF_CHECKOUT", str(tmp_path))
    with pytest.raises(StackError, match="DASKPERF_CHECKOUT"):
        find_layout()


def test_the_lock_is_held_by_one_and_freed_by_its_death(layout: Layout) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from daskperf_infra.local.state import Layout, locked\n"
        "home = Path(sys.argv[1])\n"
        "with locked(Layout(home=home, checkout=home), deadline_s=1, progress=print):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(600)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(layout.home)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told: list[str] = []
        with (
            pytest.raises(StackError, match=f"held by pid {holder.pid}"),
            locked(layout, deadline_s=0.3, progress=told.append),
        ):
            pass
        assert told == [f"waiting for pid {holder.pid}, which is starting or stopping this stack"]
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout:
            holder.stdout.close()
    with locked(layout, deadline_s=5, progress=print):
        until(lambda: layout.lock_file.read_text() == f"{os.getpid()}\n")
