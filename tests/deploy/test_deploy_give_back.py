"""The last stage on the lane, through its own entry: wheels off, lease released."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daskperf_tasks import stages
from daskperf_tasks.deploy import lease
from daskperf_tasks.deploy.switch import deploy
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.settings import Settings, read_settings
from daskperf_tasks.stage_clock import stage_records
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster, start_cluster
from tests.wheels import make_wheel, subject_and_bytes

RUN = "20261130T010203Z-616263"
OTHER = "20261130T010204Z-616263"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    running = start_cluster(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"DASKPERF_HOME": str(tmp_path / "home")})


def store(settings: Settings, name: str, document: Any) -> None:
    FilesystemStore(settings.spool).put(keys.run_key(RUN, name), dumps(document).encode())


def deployed(own: Cluster, settings: Settings, lane: Lane, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "toy-subject", "1.0", {"toy_subject/__init__.py": ""})
    lease.acquire(lane, RUN, 600)
    wheels: Any = {"subject": subject_and_bytes(wheel, "toy_subject")}
    record = deploy(own.address, wheels, lane=lane, local_root=tmp_path / "l")
    store(settings, "lane.json", lane)
    store(settings, "deployment.json", record)


def outcome(settings: Settings) -> tuple[str, str | None]:
    [record] = stage_records(FilesystemStore(settings.spool), RUN)
    assert record.name == "restore"
    return record.outcome, record.fault


def test_the_lane_is_free_and_clean_also_the_second_time(
    own: Cluster, settings: Settings, tmp_path: Path
) -> None:
    lane = own.lane()
    deployed(own, settings, lane, tmp_path)
    for _ in range(2):
        assert stages.restore(settings, RUN) == {"restored": True}
        assert lease.holder(lane) is None
    assert outcome(settings) == ("done", None)


def test_half_of_the_lane_died(own: Cluster, settings: Settings, tmp_path: Path) -> None:
    lane = own.lane(timeout_s=10.0)
    deployed(own, settings, lane, tmp_path)
    own.kill_nanny("lane-b")
    with pytest.raises(ClusterError, match="workers of the lane are gone") as seen:
        stages.restore(settings, RUN)
    assert "worker lane-b" in str(seen.value) and "lane-a" not in str(seen.value)
    assert outcome(settings) == ("failed", "infra")
    # All that could be done was done.
    assert lease.holder(lane) is None
    saved = FilesystemStore(settings.spool).get(keys.run_key(RUN, "restore.json"))
    assert b'"lane-b"' in saved and b'"paths": []' in saved


def test_a_deploy_that_was_cut_off_before_its_record(
    own: Cluster, settings: Settings, tmp_path: Path
) -> None:
    lane = own.lane()
    deployed(own, settings, lane, tmp_path)
    FilesystemStore(settings.spool).delete(keys.run_key(RUN, "deployment.json"))
    assert stages.restore(settings, RUN) == {"restored": True}
    assert lease.holder(lane) is None
    saved = FilesystemStore(settings.spool).get(keys.run_key(RUN, "restore.json"))
    assert saved.count(b'"paths": []') == 2


def test_a_lane_that_another_run_took_over_is_left_alone(
    own: Cluster, settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lane = own.lane()
    deployed(own, settings, lane, tmp_path)
    lease.release(lane, RUN)
    theirs = lease.acquire(lane, OTHER, 600)
    pids = {own.worker_pid(w) for w in own.workers}
    with caplog.at_level(logging.WARNING, "daskperf"):
        assert stages.restore(settings, RUN)["restored"] is False
    assert OTHER in caplog.text
    assert lease.holder(lane) == theirs
    assert pids == {own.worker_pid(w) for w in own.workers}


def test_the_scheduler_is_gone(own: Cluster, settings: Settings, tmp_path: Path) -> None:
    lane = own.lane(timeout_s=2.0)
    store(settings, "lane.json", lane)
    own.stop()
    # Nothing was deployed: no second error over that which the deploy told of.
    answer = stages.restore(settings, RUN)
    assert answer == {"restored": False, "why": "nothing listens at the scheduler's address"}


def test_a_restore_that_fails_releases_the_lease(
    own: Cluster, settings: Settings, tmp_path: Path
) -> None:
    lane = own.lane(timeout_s=4.0)
    deployed(own, settings, lane, tmp_path)
    os.kill(own.nannies["lane-b"].pid, signal.SIGSTOP)
    with pytest.raises(ClusterError, match="asking the nanny"):
        stages.restore(settings, RUN)
    assert lease.holder(lane) is None
    assert outcome(settings) == ("failed", "infra")
