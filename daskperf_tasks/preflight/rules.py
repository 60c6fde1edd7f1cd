"""What the facts of a lane mean: findings that block, warn or note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from daskperf_tasks.cluster.address import address_host
from daskperf_tasks.model.facts import Finding, Lane, Level, ProcessFacts
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.preflight.libraries import Needs, library_findings

#: How bad it is when a process has another version than the client, which drives
#: the run. Blocking: what is measured itself, or what must be equal for messages
#: and code to travel. ``python`` is the minor version; a differing micro warns.
MISMATCH: dict[str, Level] = {
    "python": "block",
    "dask": "block",
    "distributed": "block",
    "msgpack": "block",
    "daskperf": "block",
    "numpy": "warn",
    "pandas": "warn",
    "cloudpickle": "warn",
    "tornado": "warn",
}

#: The distributions of the table, without Python itself.
DISTRIBUTIONS = tuple(name for name in MISMATCH if name != "python")

#: A worker's memory limit may differ by this share from the lane's before it is told.
MEMORY_TOLERANCE = 0.05


def findings(
    facts: tuple[ProcessFacts, ...],
    *,
    lane: Lane,
    subject: Subject | None,
    needs: Needs | None = None,
) -> tuple[Finding, ...]:
    """Return what is to be said about a lane, the worst first.

    Parameters
    ----------
    facts
        Of client, scheduler and workers.
    lane
        What is expected.
    subject
        The deployed wheel; None when nothing was deployed.
    needs
        Library -> workloads that need it; None: nothing is planned.
    """
    found = [
        *_layout(facts, lane),
        *_versions(facts),
        *(_subject(facts, subject) if subject is not None else ()),
        *_nannies(facts),
        *_hosts(facts),
        *library_findings(facts, needs or {}),
        *_settings(facts),
        *_loopback(facts),
    ]
    order = ("block", "warn", "note")
    return tuple(sorted(found, key=lambda f: order.index(f.level)))


def _finding(
    level: Level, code: str, process: ProcessFacts, expected: str, found: str, todo: str
) -> Finding:
    return Finding(
        level=level,
        code=code,
        role=process.role,
        host=process.host,
        name=process.name,
        expected=expected,
        found=found,
        todo=todo,
    )


def _workers(facts: tuple[ProcessFacts, ...]) -> list[ProcessFacts]:
    return [f for f in facts if f.role == "worker"]


def _layout(facts: tuple[ProcessFacts, ...], lane: Lane) -> Iterator[Finding]:
    workers = {f.name: f for f in _workers(facts)}
    seen = ", ".join(workers) or "none"
    if not workers:
        yield Finding(
            level="block",
            code="no-workers",
            role="scheduler",
            host=address_host(lane.scheduler),
            name="scheduler",
            expected="at least one worker",
            found="none",
            todo="start workers and point them at this scheduler, or run `daskperf lane up`",
        )
    if not lane.workers:
        yield Finding(
            level="note",
            code="layout-not-stated",
            role="lane",
            host="",
            name="",
            expected="the lane's workers in its lane file",
            found=f"none stated; {len(workers)} visible: {seen}",
            todo="list them in lane.toml, so that a missing one is seen before measuring",
        )
        return
    wanted = {w.name: w for w in lane.workers}
    for name, expected in wanted.items():
        if name not in workers:
            yield Finding(
                level="block",
                code="worker-missing",
                role="worker",
                host=expected.host or "its host",
                name=name,
                expected=f"worker {name} of lane {lane.name}",
                found=f"visible: {seen}",
                todo="start it, or take it out of lane.toml",
            )
    for name, worker in workers.items():
        if name not in wanted:
            yield _finding(
                "block",
                "worker-unexpected",
                worker,
                f"only {', '.join(wanted)}",
                name,
                "end that worker, or add it to lane.toml",
            )
            continue
        lane_worker = wanted[name]
        if lane_worker.nthreads is not None and lane_worker.nthreads != worker.nthreads:
            yield _finding(
                "block",
                "worker-threads",
                worker,
                f"{lane_worker.nthreads} threads",
                f"{worker.nthreads}",
                "start it with --nthreads as in lane.toml, or correct lane.toml",
            )
        yield from _memory(worker, lane_worker.memory_gib)
        if lane_worker.host not in (None, worker.host, address_host(worker.address)):
            yield _finding(
                "warn",
                "worker-host",
                worker,
                f"host {lane_worker.host}",
                f"{worker.host} ({worker.address})",
                "start it on its own host, or correct lane.toml",
            )


def _memory(worker: ProcessFacts, memory_gib: float | None) -> Iterator[Finding]:
    if memory_gib is None:
        return
    found = worker.memory_limit_bytes / 2**30
    if abs(found - memory_gib) > MEMORY_TOLERANCE * memory_gib:
        yield _finding(
            "warn",
            "worker-memory",
            worker,
            f"a memory limit of {memory_gib:g} GiB",
            f"{found:.3g} GiB" if worker.memory_limit_bytes else "no limit",
            "start it with --memory-limit as in lane.toml, or correct lane.toml",
        )


def _versions(facts: tuple[ProcessFacts, ...]) -> Iterator[Finding]:
    client = next((f for f in facts if f.role == "client"), None)
    if client is None:
        return
    for process in facts:
        if process.role == "client":
            continue
        yield from _python(client, process)
        for name in DISTRIBUTIONS:
            expected = client.versions.get(name, "missing")
            found = process.versions.get(name, "missing")
            if found == expected:
                continue
            level: Level = MISMATCH[name]
            # A scheduler computes nothing: what it lacks beyond the blocking ones is no harm.
            if found == "missing" and process.role == "scheduler" and level == "warn":
                level = "note"
            yield _finding(
                level,
                "version-mismatch" if found != "missing" else "not-installed",
                process,
                f"{name} {expected} (as the client)",
                f"{name} {found}",
                f"pip install {name}=={expected} there, and restart it"
                if expected not in ("missing", "unknown") and "(" not in expected
                else f"bring {name} on the client and there to one version",
            )


def _python(client: ProcessFacts, process: ProcessFacts) -> Iterator[Finding]:
    if process.python == client.python:
        return
    same_minor = process.python.split(".")[:2] == client.python.split(".")[:2]
    yield _finding(
        "warn" if same_minor else MISMATCH["python"],
        "version-mismatch",
        process,
        f"Python {client.python} (as the client)",
        f"Python {process.python}",
        "run client, scheduler and workers on one Python",
    )


def _subject(facts: tuple[ProcessFacts, ...], subject: Subject) -> Iterator[Finding]:
    for worker in _workers(facts):
        version = worker.versions.get(subject.name, "missing")
        if version != subject.version:
            yield _finding(
                "block",
                "subject-version",
                worker,
                f"{subject.name} {subject.version} (as deployed)",
                f"{subject.name} {version}",
                "deploy again; look for what comes first on that worker's import path",
            )
            continue
        location = worker.locations.get(subject.name, "")
        if PurePosixPath(location).name != subject.sha256:
            yield _finding(
                "block",
                "subject-hash",
                worker,
                f"the wheel {subject.sha256}",
                f"{subject.name} {version} from {location or 'an unknown place'}",
                "deploy again: a package of the same version that daskperf did not deploy is "
                "in its place",
            )


def _nannies(facts: tuple[ProcessFacts, ...]) -> Iterator[Finding]:
    for worker in _workers(facts):
        if not worker.nanny:
            yield _finding(
                "block",
                "no-nanny",
                worker,
                "a nanny, which restarts the worker's process",
                "none",
                "start it with `dask worker --nanny`: without one no wheel can be deployed",
            )


def _hosts(facts: tuple[ProcessFacts, ...]) -> Iterator[Finding]:
    workers = _workers(facts)
    models = {w.cpu_model for w in workers}
    if len(models) > 1:
        for worker in workers:
            yield _finding(
                "note",
                "cpu-models-differ",
                worker,
                "one CPU model on all hosts",
                worker.cpu_model,
                "read throughput per effective thread, which weighs workers by their speed",
            )
    hosts: dict[tuple[str, str], list[ProcessFacts]] = {}
    for worker in workers:
        hosts.setdefault((worker.host, address_host(worker.address)), []).append(worker)
    for group in hosts.values():
        names = ", ".join(w.name for w in group)
        first = group[0]
        threads = sum(w.nthreads for w in group)
        if threads > first.cores:
            yield _finding(
                "note" if first.loopback else "warn",
                "threads-above-cores",
                first,
                f"at most {first.cores} threads on this host's {first.cores} cores",
                f"{threads} ({names})",
                "start fewer threads; above the cores they only wait for each other",
            )
        if first.load_1min > first.cores:
            yield _finding(
                "warn",
                "load-above-cores",
                first,
                f"a load below {first.cores} cores before measuring",
                f"{first.load_1min:.1f}",
                "find what else runs there (`top`), or measure later",
            )


def _settings(facts: tuple[ProcessFacts, ...]) -> Iterator[Finding]:
    for worker in _workers(facts):
        wanted = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        unset = [name for name in wanted if name not in worker.thread_settings]
        if unset:
            yield _finding(
                "note",
                "native-threads-unset",
                worker,
                "a set number of native threads",
                f"{', '.join(unset)} not set",
                "set them to 1 for the worker (distributed.nanny.pre-spawn-environ), else "
                "libraries may use all cores in each of its threads",
            )


def _loopback(facts: tuple[ProcessFacts, ...]) -> Iterator[Finding]:
    for worker in _workers(facts):
        if worker.loopback:
            yield _finding(
                "note",
                "loopback-worker",
                worker,
                "a worker on another host",
                worker.address,
                "do not read loopback cluster tests as true remote behaviour: they have no "
                "network between the hosts",
            )
