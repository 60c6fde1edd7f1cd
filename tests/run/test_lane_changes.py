"""What happens to a lane between the blocks of a round: real workers that go, come, are switched.

Its wheel has no ``__version__``, and its metadata spell the version otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from distributed import Client

from daskperf_tasks.deploy.unpack import install_wheel
from daskperf_tasks.model.block import BlockResult, Failure
from daskperf_tasks.model.facts import LaneWorker
from daskperf_tasks.run.done import unprofiled
from daskperf_tasks.run.spec import Layout, RoundSpec, round_spec
from daskperf_tasks.run.supervise import run_round
from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster, start_cluster
from tests.wheels import make_wheel, subject_and_bytes

from .rounds import RUN, blocks_of, small_plan, small_spec

LAYOUT = Layout(workers=2, threads=2)
LANE = tuple(LaneWorker(name=n, nthreads=2) for n in ("lane-a", "lane-b"))


@dataclass(frozen=True)
class Wheel:
    sha256: str
    folder: str


def _wheel(folder: Path, content: str) -> Wheel:
    path = make_wheel(folder, "oddly-made", "2.1.0", {"oddly_made/__init__.py": content})
    subject, _ = subject_and_bytes(path, "oddly_made")
    base = folder / "daskperf-wheels"
    base.mkdir()
    done = install_wheel(str(path), path.name, subject.sha256, str(base))
    return Wheel(sha256=subject.sha256, folder=str(done["folder"]))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Wheel, Wheel]:
    """Tonight's, and another one of the same name and version."""
    folder = tmp_path_factory.mktemp("wheels")
    return _wheel(folder / "tonight", "ANSWER = 42\n"), _wheel(folder / "other", "ANSWER = 41\n")


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, wheels: tuple[Wheel, Wheel]
) -> Iterator[Cluster]:
    env = {"PYTHONPATH": wheels[0].folder}
    running = start_cluster(tmp_path_factory.mktemp("lane"), workers=2, nthreads=2, env=env)
    yield running
    running.stop()


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mark"
    monkeypatch.setenv("DASKPERF_TEST_MARK", str(path))
    return path


def _spec(
    cells: Sequence[tuple[str, str]],
    ledger: FilesystemStore,
    cluster: Cluster,
    wheel: Wheel,
    *,
    max_attempts: int = 2,
    open_timeout_s: float = 40.0,
) -> RoundSpec:
    """A spec whose turns come as given, without the profiled pass."""
    plan = small_plan(cells, units=8, max_attempts=max_attempts, timeout_s=60.0)
    spec = small_spec(
        plan, ledger.root, scheduler=cluster.address, layout=LAYOUT, open_timeout_s=open_timeout_s
    )
    order = {cell: i for i, cell in enumerate(cells)}
    turns = sorted(spec.turns, key=lambda t: order[t.planned.cell.workload, t.planned.cell.env])
    return replace(
        spec,
        turns=tuple(turns),
        round=replace(spec.round, profile=False),
        workers=LANE,
        import_name="oddly_made",
        subject_version="2.1",
        subject_sha256=wheel.sha256,
        wheel_folder=wheel.folder,
    )


BETWEEN = [("counts", "remote"), ("holds", "threads"), ("sums", "remote")]


def _run(
    spec: RoundSpec,
    ledger: FilesystemStore,
    mark: Path,
    meanwhile: Callable[[], None],
    on_failure: Callable[[int], None] = lambda _: None,
) -> dict[tuple[str, str, int], BlockResult]:
    """Run a round; do something after its first block, and something at each infra failure."""
    lines: list[str] = []

    def log(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            meanwhile()
            mark.touch()
        if "infra failure" in line:
            on_failure(sum("infra failure" in seen for seen in lines))

    run_round(spec, store=ledger, log=log)
    return blocks_of(ledger)


def _wait_for(cluster: Cluster, names: set[str]) -> None:
    """Return when the scheduler knows exactly these workers."""
    deadline = time.monotonic() + 60
    with Client(cluster.address, set_as_default=False) as client:
        while time.monotonic() < deadline:
            info = client.scheduler_info(n_workers=-1)["workers"].values()
            if {w["name"] for w in info} == names:
                return
            time.sleep(0.05)
    raise AssertionError(f"the lane never came to {names}")


def _failure(block: BlockResult) -> tuple[str, str]:
    assert isinstance(block.outcome, Failure), block
    assert not block.valid
    return block.outcome.fault, block.outcome.message.splitlines()[0]


def _whole(block: BlockResult) -> bool:
    return (
        block.valid
        and [m.name for m in block.members_before] == ["lane-a", "lane-b"]
        and block.members_before == block.members_after
    )


def test_a_worker_that_is_gone_between_blocks_is_missed_until_it_is_back(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel], mark: Path
) -> None:
    cells = [*BETWEEN, ("sleeps", "remote-processes")]
    spec = _spec(cells, ledger, cluster, wheels[0], open_timeout_s=4.0)

    def lose() -> None:
        cluster.kill_nanny("lane-b")
        _wait_for(cluster, {"lane-a"})

    def bring_back(failures: int) -> None:
        if failures == 2:
            cluster.add_worker("lane-b", env={"PYTHONPATH": wheels[0].folder})
            cluster.wait()

    blocks = _run(spec, ledger, mark, lose, bring_back)
    assert set(blocks) == {
        ("counts", "remote", 1),
        ("holds", "threads", 1),
        *(("sums", "remote", i) for i in (1, 2)),
        *(("sleeps", "remote-processes", i) for i in (1, 2)),
    }
    for name, env in (("sums", "remote"), ("sleeps", "remote-processes")):
        says = _failure(blocks[name, env, 1])
        assert says == ("infra", "worker lane-b is missing: 1 of 2 workers")
        assert _whole(blocks[name, env, 2])
    assert (blocks["sums", "remote", 2].threads, blocks["sums", "remote", 2].processes) == (4, 2)


def test_a_worker_that_its_nanny_restarts_between_blocks_is_waited_for(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel], mark: Path
) -> None:
    spec = _spec(BETWEEN, ledger, cluster, wheels[0])
    blocks = _run(spec, ledger, mark, lambda: cluster.kill_worker("lane-b") and None)
    before, after = blocks["counts", "remote", 1], blocks["sums", "remote", 1]
    assert _whole(before) and _whole(after)
    assert (after.threads, after.processes) == (4, 2)
    assert before.members_after[0] == after.members_before[0]
    assert before.members_after[1] != after.members_before[1]


def test_a_worker_that_joined_is_one_too_many(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel], mark: Path
) -> None:
    spec = _spec(BETWEEN, ledger, cluster, wheels[0], open_timeout_s=4.0)

    def join() -> None:
        cluster.add_worker("lane-c", env={"PYTHONPATH": wheels[0].folder})
        cluster.wait()

    def leave(_failures: int) -> None:
        cluster.kill_nanny("lane-c")
        _wait_for(cluster, {"lane-a", "lane-b"})

    blocks = _run(spec, ledger, mark, join, leave)
    says = _failure(blocks["sums", "remote", 1])
    assert says == ("infra", "worker lane-c joined: 3 workers instead of 2")
    assert _whole(blocks["sums", "remote", 2])


def test_a_wheel_that_somebody_switched_between_blocks_is_refused(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel], mark: Path
) -> None:
    tonight, other = wheels
    spec = _spec(BETWEEN, ledger, cluster, tonight)

    def serve(wheel: Wheel) -> None:
        cluster.kill_nanny("lane-b")
        _wait_for(cluster, {"lane-a"})
        cluster.add_worker("lane-b", env={"PYTHONPATH": wheel.folder})
        cluster.wait()

    blocks = _run(spec, ledger, mark, lambda: serve(other), lambda _: serve(tonight))
    fault, says = _failure(blocks["sums", "remote", 1])
    assert fault == "infra"
    assert says == "worker lane-b serves another oddly_made than the deployed one"
    assert _whole(blocks["sums", "remote", 2])


def test_a_worker_that_never_comes_fails_its_cells_in_the_end(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel]
) -> None:
    cells = [("counts", "remote"), ("sleeps", "remote-threads")]
    spec = _spec(cells, ledger, cluster, wheels[0], open_timeout_s=1.0)
    ghost = LaneWorker(name="lane-z", nthreads=2)
    report = run_round(replace(spec, workers=(*LANE, ghost)), store=ledger, log=print)
    assert (report.valid, report.failed) == (0, 2)
    blocks = blocks_of(ledger)
    assert len(blocks) == 4
    for block in blocks.values():
        assert _failure(block) == ("infra", "worker lane-z is missing: 2 of 3 workers")


def test_a_wheel_without_a_version_of_its_own_and_a_profile_made_up_for(
    cluster: Cluster, ledger: FilesystemStore, wheels: tuple[Wheel, Wheel]
) -> None:
    envs = ("threads", "processes", "local", "remote")
    spec = _spec([("counts", env) for env in envs], ledger, cluster, wheels[0])
    assert run_round(spec, store=ledger, log=print).valid == 4
    found = blocks_of(ledger)
    assert {b.subject_version for b in found.values()} == {"2.1"}
    assert {e: (b.threads, b.processes) for (_, e, _), b in found.items()} == {
        "threads": (2, 1),
        "processes": (2, 2),
        "local": (4, 2),
        "remote": (4, 2),
    }
    # The process died before its profiled pass; the round is tried again.
    reports = [f"profiles/{RUN}/{side}/performance_report.html" for side in ("local", "remote")]
    assert not any(ledger.exists(key) for key in reports)
    plan = small_plan([("counts", env) for env in envs], units=8, max_attempts=2, timeout_s=60.0)
    again = round_spec(
        plan,
        replace(spec.round, profile=True),
        subject=subject_and_bytes(
            next(Path(wheels[0].folder).parents[1].glob("*.whl")), "oddly_made"
        )[0],
        wheel_folder=wheels[0].folder,
        scheduler=cluster.address,
        layout=LAYOUT,
        ledger=str(ledger.root),
        blocks=found.values(),
        workers=LANE,
    )
    assert again.turns == ()
    assert {c.cell.env for c in unprofiled(again, ledger)} == {"local", "remote"}
    run_round(again, store=ledger, log=print)
    assert all(ledger.exists(key) for key in reports)
    assert unprofiled(again, ledger) == ()
    assert blocks_of(ledger) == found
