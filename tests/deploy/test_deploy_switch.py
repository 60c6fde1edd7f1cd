"""Deploy, switch and restore on a real scheduler with real nannies and workers."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import ask, live_workers, open_client
from daskperf_tasks.deploy import lease
from daskperf_tasks.deploy.paths import wheel_paths
from daskperf_tasks.deploy.switch import deploy, nothing, restore, switch
from daskperf_tasks.errors import ClusterError, DeployError, LaneBusyError, WheelError
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.subject import Deployment
from tests.dask_cluster import CHECKOUT, Cluster, start_cluster
from tests.wheels import make_wheel, subject_and_bytes

OWN = {"toy_subject/__init__.py": "VERSION = '0.9'\n"}
#: What a worker without the subject in its environment says.
NONE = {"lane-a": ("none", "none"), "lane-b": ("none", "none")}


def _toy(folder: Path, version: str, code: str = "", **more: Any) -> Any:
    files = {"toy_subject/__init__.py": f"VERSION = {version!r}\n{code}"}
    wheel = make_wheel(folder, "toy-subject", version, files, **more)
    return subject_and_bytes(wheel, "toy_subject")


def _served() -> tuple[str, str]:
    import subprocess as sub
    import sys as system

    try:
        import toy_subject

        here = str(toy_subject.VERSION)
    except ImportError:
        here = "none"
    # A program that the worker starts sees the same wheel, through PYTHONPATH.
    code = "import toy_subject; print(toy_subject.VERSION)"
    child = sub.run([system.executable, "-c", code], capture_output=True, text=True)
    return here, child.stdout.strip() or "none"


def served(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """What tasks import on each worker now."""
    with Client(cluster.address, set_as_default=False) as client:
        names = {a: w["name"] for a, w in client.scheduler_info(n_workers=-1)["workers"].items()}
        return {names[a]: answer for a, answer in client.run(_served).items()}


@pytest.fixture
def lane(cluster: Cluster) -> Iterator[Any]:
    yield cluster.lane()
    restore(cluster.address, nothing(cluster.address), lane=cluster.lane())


def test_deploy_switch_restore(cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path) -> None:
    old, new = _toy(wheels, "1.0"), _toy(wheels, "2.0")
    before = {name: cluster.worker_pid(name) for name in cluster.workers}

    record = deploy(
        cluster.address, {"subject": new, "reference": old}, lane=lane, local_root=tmp_path / "l"
    )

    assert record.state == "deployed" and record.previous == {"lane-a": (), "lane-b": ()}
    assert served(cluster) == {"lane-a": ("2.0", "2.0"), "lane-b": ("2.0", "2.0")}
    assert [c.worker for c in record.checks] == ["lane-a", "lane-b"]
    assert all(c.version == "2.0" and c.pid != before[c.worker] for c in record.checks)
    # The two workers share a host and a folder: the bytes went there once a wheel.
    assert len(record.installs) == 4
    assert sum(not i.reused for i in record.installs) == 2
    assert len({i.folder for i in record.installs}) == 2
    for arm, subject in (("subject", new[0]), ("reference", old[0])):
        local = Path(record.local_folders[arm])
        assert local.name == subject.sha256 and (local / "toy_subject/__init__.py").is_file()

    # The record alone is enough, also after it was written and read.
    record = loads(dumps(record), Deployment)
    checks = switch(cluster.address, record, "reference", lane=lane)
    assert {c.version for c in checks} == {"1.0"}
    assert {c.pid for c in checks}.isdisjoint({c.pid for c in record.checks})
    assert served(cluster)["lane-a"] == ("1.0", "1.0")

    # Restoring from another process.
    path = tmp_path / "deployment.json"
    path.write_text(dumps(record))
    code = (
        "import json, sys; from pathlib import Path\n"
        "from daskperf_tasks.deploy.switch import restore\n"
        "from daskperf_tasks.deploy.lane_file import adhoc_lane\n"
        "from daskperf_tasks.model.codec import loads\n"
        "from daskperf_tasks.model.subject import Deployment\n"
        "record = loads(Path(sys.argv[1]).read_text(), Deployment)\n"
        "lane = adhoc_lane(record.scheduler)\n"
        "print(json.dumps(restore(record.scheduler, record, lane=lane)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=CHECKOUT,
    )
    answer = json.loads(done.stdout)
    assert answer["state"] == "restored" and answer["restarted"] == ["lane-a", "lane-b"]
    assert all(w["paths"] == [] and w["location"] == "" for w in answer["workers"].values())
    again = restore(cluster.address, record, lane=lane)
    assert again["restarted"] == [] and again["missing"] == []


def test_a_wheel_that_stands_there_is_not_sent_again(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    new = _toy(wheels, "3.0")
    deploy(cluster.address, {"subject": new}, lane=lane, local_root=tmp_path / "l")
    record = deploy(cluster.address, {"subject": new}, lane=lane, local_root=tmp_path / "l")
    assert all(i.reused for i in record.installs)


def test_a_wheel_that_fails_to_import_touches_no_worker(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    before = {cluster.worker_pid(w) for w in cluster.workers}
    bad = _toy(wheels, "2.0", "raise RuntimeError('this wheel is broken')\n")
    with pytest.raises(DeployError) as seen:
        deploy(cluster.address, {"subject": bad}, lane=lane, local_root=tmp_path / "l")
    text = str(seen.value)
    assert "fails to import: RuntimeError: this wheel is broken" in text
    assert "worker lane-a on 127.0.0.1" in text
    assert "toy_subject/__init__.py" in text and "toy-subject 2.0" in text
    failed = seen.value.deployment  # type: ignore[attr-defined]
    assert failed.state == "failed" and "this wheel is broken" in failed.error
    assert served(cluster) == NONE
    assert before == {cluster.worker_pid(w) for w in cluster.workers}


IN_WORKERS_ONLY = (
    "import sys\nif '__mp_main__' in sys.modules:\n    raise RuntimeError('not in a worker')\n"
)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (IN_WORKERS_ONLY, "RuntimeError: not in a worker"),
        ("import sys, os\nif '__mp_main__' in sys.modules:\n    os._exit(3)\n", "died or fell"),
    ],
    ids=["raises", "kills"],
)
def test_a_wheel_that_fails_in_workers_is_taken_back(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path, code: str, said: str
) -> None:
    # The import trial on the host passes: only a worker process sees the fault.
    bad = _toy(wheels, "2.0", code)
    short = dataclasses.replace(lane, timeout_s=15.0)
    with pytest.raises(DeployError) as seen:
        deploy(cluster.address, {"subject": bad}, lane=short, local_root=tmp_path / "l")
    assert said in str(seen.value) and "toy-subject 2.0" in str(seen.value)
    failed = seen.value.deployment  # type: ignore[attr-defined]
    assert failed.state == "failed"
    assert served(cluster) == NONE


def test_a_worker_that_does_not_come_back_with_the_wheel(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    # Breaks the start of the worker's interpreter, and of that alone.
    custom = (
        "import sys\nif any('spawn_main' in a for a in sys.orig_argv):\n    raise SystemExit(7)\n"
    )
    files = {"toy_subject/__init__.py": "VERSION = '2.0'\n", "sitecustomize.py": custom}
    wheel = make_wheel(wheels, "toy-subject", "2.0", files)
    short = dataclasses.replace(lane, timeout_s=6.0)
    with pytest.raises(DeployError, match="did not come back after their restart") as seen:
        deploy(
            cluster.address,
            {"subject": subject_and_bytes(wheel, "toy_subject")},
            lane=short,
            local_root=tmp_path / "l",
        )
    assert "worker lane-a on 127.0.0.1" in str(seen.value)
    assert served(cluster) == NONE


DEPLOYER = """
import sys
from pathlib import Path
from daskperf_tasks.deploy import lease, switch
from daskperf_tasks.deploy.lane_file import adhoc_lane
from tests.wheels import subject_and_bytes

lane = adhoc_lane(sys.argv[1])
lease.acquire(lane, "run-1", 600, while_alive=True)
wheel = subject_and_bytes(Path(sys.argv[2]), "toy_subject")
switch.deploy(lane.scheduler, {"subject": wheel}, lane=lane, local_root=Path(sys.argv[3]))
print("deployed", flush=True)
sys.stdin.read()
"""


def test_what_a_run_that_was_killed_left_is_off_the_lane_after_the_next(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    files = {"toy_subject/__init__.py": "VERSION = '1.0'\n"}
    left = make_wheel(wheels, "toy-subject", "1.0", files)
    words = [sys.executable, "-c", DEPLOYER, cluster.address, str(left), str(tmp_path / "l")]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    ) as run_1:
        assert run_1.stdout is not None
        assert run_1.stdout.readline() == "deployed\n"
        with pytest.raises(LaneBusyError):
            lease.acquire(lane, "run-2", 60)
        run_1.kill()
        run_1.wait()
    assert served(cluster) == {"lane-a": ("1.0", "1.0"), "lane-b": ("1.0", "1.0")}

    lease.acquire(lane, "run-2", 60, while_alive=True)
    try:
        # A broken wheel does not bring the dead run's one back to light either.
        with pytest.raises(DeployError, match="fails to import"):
            bad = _toy(wheels, "1.5", "import surely_not_installed\n")
            deploy(cluster.address, {"subject": bad}, lane=lane, local_root=tmp_path / "l")
        assert served(cluster) == NONE
        record = deploy(
            cluster.address, {"subject": _toy(wheels, "2.0")}, lane=lane, local_root=tmp_path / "l"
        )
        assert record.previous == {"lane-a": (), "lane-b": ()}
        done = restore(cluster.address, record, lane=lane)
    finally:
        assert lease.release(lane, "run-2") is True
    assert done["restarted"] == ["lane-a", "lane-b"]
    assert served(cluster) == NONE
    with open_client(cluster.address, timeout_s=10.0) as client:
        crew = live_workers(client, timeout_s=10.0)
        for nanny in (True, False):
            paths = ask(client, Sent(wheel_paths), crew, timeout_s=10.0, nanny=nanny)
            assert paths == {"lane-a": [], "lane-b": []}


def test_a_missing_dependency_is_named(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    wheel = _toy(wheels, "2.0", "import surely_not_installed\n")
    with pytest.raises(DeployError, match="No module named 'surely_not_installed'") as seen:
        deploy(cluster.address, {"subject": wheel}, lane=lane, local_root=tmp_path / "l")
    assert "install the missing module in the workers' environment" in str(seen.value)


def test_bad_bytes_and_bad_wheels_change_nothing(
    cluster: Cluster, lane: Any, wheels: Path, tmp_path: Path
) -> None:
    subject, data = _toy(wheels, "1.0")
    pids = {cluster.worker_pid(w) for w in cluster.workers}
    with pytest.raises(WheelError, match="not those that were promised"):
        deploy(cluster.address, {"subject": (subject, data + b"x")}, lane=lane, local_root=tmp_path)
    with pytest.raises(DeployError, match="cannot be installed") as seen:
        broken = _toy(wheels / "b", "1.0", broken_record=True)
        deploy(cluster.address, {"subject": broken}, lane=lane, local_root=tmp_path)
    assert "RECORD" in str(seen.value)
    assert pids == {cluster.worker_pid(w) for w in cluster.workers}


def test_another_copy_that_wins_is_found_out(wheels: Path, tmp_path: Path) -> None:
    # A preload imports the worker's own copy before the deployed one can be.
    own = tmp_path / "own"
    (own / "toy_subject").mkdir(parents=True)
    (own / "toy_subject/__init__.py").write_text("VERSION = 'own'\n")
    (own / "early.py").write_text(
        f"import sys\nsys.path.insert(0, {str(own)!r})\nimport toy_subject\n"
    )
    env = {"DASK_DISTRIBUTED__WORKER__PRELOAD": str(own / "early.py")}
    cluster = start_cluster(tmp_path, workers=1, env=env)
    try:
        with pytest.raises(DeployError, match="serves another toy_subject") as seen:
            deploy(
                cluster.address,
                {"subject": _toy(wheels, "1.0")},
                lane=cluster.lane(),
                local_root=tmp_path / "l",
            )
        assert str(own / "toy_subject/__init__.py") in str(seen.value)
    finally:
        cluster.stop()


def test_workers_without_nanny_and_no_workers(wheels: Path, tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=1, nanny=False)
    try:
        wheel = _toy(wheels, "1.0")
        with pytest.raises(ClusterError, match="workers without a nanny") as seen:
            deploy(cluster.address, {"subject": wheel}, lane=cluster.lane(), local_root=tmp_path)
        assert "lane-a" in str(seen.value) and "--nanny" in str(seen.value)
        record = nothing(cluster.address)
        assert restore(cluster.address, record, lane=cluster.lane())["restarted"] == []
        cluster.kill_nanny("lane-a")
        lane = cluster.lane(stated=False, timeout_s=1.0)
        with Client(cluster.address, set_as_default=False) as client:
            while client.scheduler_info(n_workers=-1)["workers"]:
                pass
        with pytest.raises(ClusterError, match="has no workers"):
            deploy(cluster.address, {"subject": wheel}, lane=lane, local_root=tmp_path)
    finally:
        cluster.stop()


def test_the_lane_changes_under_a_deployment(wheels: Path, tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=2)
    try:
        lane = cluster.lane()
        record = deploy(
            cluster.address, {"subject": _toy(wheels, "1.0")}, lane=lane, local_root=tmp_path / "l"
        )
        with pytest.raises(DeployError, match="no wheel was deployed for this arm"):
            switch(cluster.address, record, "reference", lane=lane)
        cluster.kill_nanny("lane-b")
        cluster.add_worker("lane-c")
        cluster.wait(("lane-a", "lane-c"))
        with pytest.raises(ClusterError, match="not those that the wheel was installed for") as e:
            switch(cluster.address, record, "subject", lane=cluster.lane(timeout_s=2.0))
        assert "lane-c" in str(e.value)
        answer = restore(cluster.address, record, lane=lane)
        assert answer["restarted"] == ["lane-a"] and answer["missing"] == ["lane-b"]
    finally:
        cluster.stop()


def test_a_subject_of_the_workers_own_environment_gives_way_and_comes_back(
    wheels: Path, tmp_path: Path
) -> None:
    own = tmp_path / "site"
    own.mkdir()
    with zipfile.ZipFile(make_wheel(tmp_path, "toy-subject", "0.9", OWN)) as archive:
        archive.extractall(own)
    cluster = start_cluster(tmp_path, workers=1, env={"PYTHONPATH": str(own)})
    try:
        lane = cluster.lane()
        assert served(cluster) == {"lane-a": ("0.9", "0.9")}
        record = deploy(
            cluster.address, {"subject": _toy(wheels, "1.0")}, lane=lane, local_root=tmp_path / "l"
        )
        assert served(cluster) == {"lane-a": ("1.0", "1.0")}
        # A worker that dies comes back with the deployed wheel.
        cluster.kill_worker("lane-a")
        switch(cluster.address, record, "subject", lane=lane)
        answer = restore(cluster.address, record, lane=lane)
        assert answer["workers"]["lane-a"]["version"] == "0.9"
        assert answer["workers"]["lane-a"]["location"] == str(own / "toy_subject/__init__.py")
        assert served(cluster) == {"lane-a": ("0.9", "0.9")}
    finally:
        cluster.stop()
