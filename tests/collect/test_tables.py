from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daskperf_tasks.collect import fine_metrics
from daskperf_tasks.collect.fingerprint import cores_quota, fingerprint
from daskperf_tasks.collect.host_load import HostLook, host_load, look, machine_id
from daskperf_tasks.collect.samples import samples_table
from daskperf_tasks.collect.task_stream import (
    COLUMNS,
    RepeatRows,
    TaskRow,
    concat,
    empty_table,
    from_parquet,
    task_table,
    to_parquet,
)
from daskperf_tasks.collect.workers import cluster_workers, pool_worker, workers_document
from daskperf_tasks.model.measured import Missing
from tests import sample_documents

ROW = TaskRow(
    key="('inc-1', 0)",
    name="inc",
    worker="tcp://a:1",
    worker_name="w0",
    thread=9,
    nbytes=28,
    spans=(("transfer", 1.0, 1.5), ("compute", 1.5, 4.0)),
)


def test_a_block_becomes_a_table_and_comes_back() -> None:
    parts = [
        RepeatRows(repeat=0, phase="warmup", rows=(ROW,)),
        RepeatRows(repeat=1, phase="measure", rows=(ROW, replace(ROW, key="x", nbytes=None))),
    ]
    table = task_table(parts, cell_id="c", arm="subject", round_index=2, attempt=1)
    assert table.column_names == [name for name, _ in COLUMNS]
    again = from_parquet(to_parquet(table))
    assert again.equals(table)
    first, second, *_ = again.to_pylist()
    assert (first["action"], first["nbytes"], first["start_s"]) == ("transfer", None, 1.0)
    assert (second["action"], second["nbytes"], second["round"]) == ("compute", 28, 2)
    assert again.num_rows == 6


def test_streams_are_joined_by_time() -> None:
    late = replace(ROW, spans=(("compute", 9.0, 9.5),))
    tables = [
        task_table(
            [RepeatRows(repeat=0, phase="measure", rows=(row,))],
            cell_id=name,
            arm="subject",
            round_index=0,
            attempt=1,
        )
        for name, row in (("b", late), ("a", ROW))
    ]
    joined = concat(tables)
    assert joined.column("cell_id").to_pylist() == ["a", "a", "b"]
    assert joined.schema == empty_table().schema
    assert concat([]).num_rows == 0


def test_seconds_of_an_action() -> None:
    assert (ROW.seconds("compute"), ROW.seconds("transfer"), ROW.seconds("x")) == (2.5, 0.5, 0)


def test_fine_metrics_of_what_ran_in_between() -> None:
    before = {"w": fine_metrics.flatten({("execute", "s", "inc", "thread-cpu", "seconds"): 1.0})}
    after = {
        "w": fine_metrics.flatten(
            {
                ("execute", "s", "inc", "thread-cpu", "seconds"): 1.0,
                ("execute", "t", "dec", "thread-cpu", "seconds"): 2.0,
                ("gather-dep", "network", "seconds"): 0.5,
                "latency": 7.0,
            }
        ),
        "new": {"get-data/network/seconds": 0.25},
    }
    assert fine_metrics.difference(before, after) == {
        "execute/thread-cpu/seconds": 2.0,
        "gather-dep/network/seconds": 0.5,
        "get-data/network/seconds": 0.25,
    }
    assert fine_metrics.total([{"a": 1.0}, {"a": 2.0, "b": 1.0}]) == {"a": 3.0, "b": 1.0}


def test_samples_keep_the_reasons_of_what_is_missing() -> None:
    block = sample_documents.block()
    lacking = replace(
        block,
        samples=tuple(replace(s, scheduler_cpu_s=Missing(missing="why")) for s in block.samples),
    )
    table = samples_table([lacking])
    assert table.num_rows == len(block.samples)
    row = table.to_pylist()[0]
    assert row["scheduler_cpu_s"] is None
    assert "scheduler_cpu_s: why" in row["missing"].splitlines()
    assert row["makespan_s"] == block.samples[0].makespan_s
    assert row["env"] == "local"
    assert samples_table([lacking], side="remote").num_rows == 0
    assert samples_table([]).schema == table.schema


def test_host_load_of_a_short_block_is_not_known() -> None:
    now = look(10.0, 1.0)
    load = host_load(now, replace(now, at=10.01))
    assert isinstance(load.foreign_cpu_cores, Missing)
    assert isinstance(load.steal_fraction, Missing)


def test_own_work_is_not_foreign() -> None:
    a = HostLook(at=0, load_1min=0, busy_s=10, steal_s=0, all_s=100, own_s=5)
    b = HostLook(at=4, load_1min=0, busy_s=14, steal_s=0, all_s=108, own_s=10)
    assert host_load(a, b).foreign_cpu_cores == 0.0


def test_a_fingerprint_holds_no_private_variables() -> None:
    facts = fingerprint()
    assert facts["distributions"]["dask"]
    assert facts["cores"] >= 1
    assert set(facts["settings"]) <= {
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_DYNAMIC",
        "OMP_PROC_BIND",
        "OMP_PLACES",
        "MALLOC_TRIM_THRESHOLD_",
        "MALLOC_ARENA_MAX",
        "LD_PRELOAD",
        "PYTHONHASHSEED",
        "PYTHONMALLOC",
        "PYTHONOPTIMIZE",
    }
    assert machine_id()


def test_native_libraries_report_their_threads() -> None:
    facts = fingerprint()
    assert any("blas" in name for name in facts["native_threads"])
    assert all(threads >= 1 for threads in facts["native_threads"].values())


@pytest.mark.parametrize(
    ("lines", "files", "cores"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        (
            "3:cpu,cpuacct:/x\n0::/\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "200000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        (
            "3:cpu:/x\n",
            {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"},
            None,
        ),
        ("3:memory:/x\n", {"memory/x/cpu.max": "100000 100000"}, None),
    ],
    ids=["v2-parent", "v2-unlimited", "v1", "v1-unlimited", "no-cpu-controller"],
)
def test_the_quota_of_the_control_groups_counts(
    tmp_path: Path, lines: str, files: dict[str, str], cores: float | None
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(lines)
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert cores_quota(tmp_path) == cores


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cores_quota(tmp_path) is None


def test_workers_of_pools_and_clusters_have_one_form() -> None:
    info = {"workers": {"tcp://h:1": {"name": 0, "nthreads": 2, "host": "h", "id": "Worker-1"}}}
    (cluster,) = cluster_workers("remote", info)
    pool = pool_worker("threads", "driver", 12, 2, "h")
    assert cluster.keys() == pool.keys()
    document = workers_document("remote", "1 x 2", [pool, cluster])
    assert [w["name"] for w in document["workers"]] == ["0", "driver"]
