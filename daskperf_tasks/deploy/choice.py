"""Which wheel is under test tonight, and which one it is compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from daskperf_tasks.deploy.build import build_wheel
from daskperf_tasks.deploy.sources import BY_HAND, latest, open_source, subject_of, wheel_by_hand
from daskperf_tasks.deploy.wheel_workloads import Known, PlannedWorkload, workloads_with
from daskperf_tasks.errors import DeployError, InputError, StoreError, WheelError
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.subject import Subject, SubjectSet
from daskperf_tasks.settings import Settings, checkout
from daskperf_tasks.store import keys
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.runs import load, previous_accepted

#: The subject that daskperf itself builds, from the checkout's ``kernels/``.
OWN_SUBJECT = "daskperf-kernels"


def choose_subject(settings: Settings, wheel: str | None) -> tuple[Subject, bytes]:
    """Return the wheel under test and its bytes.

    A path given by hand wins. Otherwise the latest wheel of the wheel source
    is taken; when the subject is daskperf's own kernels and this is a
    checkout, the wheel of the working tree is built into the source first.

    Raises
    ------
    WheelError
        When there is no such wheel, or it is none.
    DeployError
        When the kernels do not build.
    """
    if wheel is not None:
        return wheel_by_hand(wheel)
    root = checkout()
    if settings.subject == OWN_SUBJECT and root is not None:
        _add_own_wheel(root, settings)
    return latest(open_source(settings.wheels), settings.subject)


def check_fits(
    subject: Subject,
    plan: Plan,
    registry: Mapping[str, PlannedWorkload],
    own: Collection[str] = (),
) -> None:
    """Make sure that the planned workloads run what the wheel holds (pure).

    Parameters
    ----------
    own
        Names of the workloads that the wheel itself brings; one of them is enough.

    Raises
    ------
    WheelError
        When none of them imports it: every cell would measure something else, or fail.
    """
    names = sorted({cell.cell.workload for cell in plan.cells})
    wanted = sorted({module for name in names for module in registry[name].requires})
    if not set(own).isdisjoint(names):
        return
    if wanted and subject.import_name not in wanted:
        raise WheelError(
            "the wheel is not what the matrix measures",
            where=f"{subject.file}, matrix {plan.matrix_name}",
            expected=f"a wheel with {' or '.join(wanted)}, which the workloads "
            f"{', '.join(names)} import",
            found=f"{subject.name}, which holds {subject.import_name}",
            todo="give the right wheel with --subject, or a matrix with workloads that use it",
        )


def check_reference(
    reference: Subject, known: Known, plan: Plan, subject: Subject, own: Collection[str]
) -> str | None:
    """Say why two wheels cannot be compared by the subject's plan (pure); None when they can.

    A plan holds one version of each workload, that of the wheel under test. A
    reference that brings another one, or none, would compute other work: its blocks
    would fail, and no pair of them could be judged.

    Parameters
    ----------
    reference, known
        The other wheel, and what could be planned with it.
    plan, subject, own
        What is planned, with which wheel, and which workloads that one brings.
    """
    for name in sorted({cell.cell.workload for cell in plan.cells} & set(own)):
        [version] = {c.cell.version for c in plan.cells if c.cell.workload == name}
        params = {p for c in plan.cells if c.cell.workload == name for p, _ in c.cell.params}
        theirs = known.registry.get(name) if name in known.own else None
        if theirs is None:
            found = f"brings no workload {name!r}"
        elif theirs.version != version:
            found = f"brings version {theirs.version} of the workload {name!r}"
        elif params - set(theirs.params):
            lacking = ", ".join(sorted(params - set(theirs.params)))
            found = f"brings a workload {name!r} without the parameter {lacking}"
        else:
            continue
        return f"{reference.file} {found}; the plan has version {version}, that of {subject.file}"
    return None


def _same_distribution(one: Subject, other: Subject) -> bool:
    from packaging.utils import canonicalize_name

    same_name = canonicalize_name(one.name) == canonicalize_name(other.name)
    return same_name and one.import_name == other.import_name


def _add_own_wheel(root: Path, settings: Settings) -> None:
    """Build the working tree's kernels into the wheel source, wherever that is."""
    built = build_wheel(root / "kernels", settings.cache / "built-wheels")
    open_store(settings.wheels).put(built.path.name, built.path.read_bytes(), replace=True)


def choose_reference(
    settings: Settings,
    against: str | None,
    subject: Subject,
    *,
    before: str,
    lane: str,
    matrix: str,
) -> tuple[Subject | None, bytes | None, str]:
    """Return the wheel that is measured beside the subject, or why there is none.

    Without a wish it is the last accepted run's wheel. A store that does not
    answer is no reason to lose a night: the reason is recorded instead.

    Raises
    ------
    WheelError
        When a wheel given by hand cannot be read, or is of another distribution.
    """
    if against == "none":
        return None, None, "no reference was asked for"
    if against is not None:
        reference, data = wheel_by_hand(against)
        if reference.sha256 == subject.sha256:
            raise InputError(
                "the reference is the wheel under test",
                found=subject.file,
                todo="name two different wheels",
            )
        if not _same_distribution(reference, subject):
            raise WheelError(
                "the reference is a wheel of another distribution than the wheel under test",
                expected=f"a wheel of {subject.name} with {subject.import_name}, as {subject.file}",
                found=f"{reference.file}: {reference.name} with {reference.import_name}",
                todo="name two wheels of one distribution",
            )
        return reference, data, "given by hand"
    try:
        store = open_store(settings.store)
        accepted = previous_accepted(store, before, lane, matrix)
        if accepted is None:
            return None, None, "there is no accepted run of this matrix on this lane yet"
        if accepted.subject_sha256 == subject.sha256:
            return None, None, f"the last accepted run {accepted.run_id} had the same wheel"
        known = load(store, accepted.run_id, "subject.json", SubjectSet).subject
        data = store.get(keys.wheel_file(known.sha256, known.file))
    except StoreError as err:
        return None, None, f"the last accepted wheel could not be read: {err.message}"
    if not _same_distribution(known, subject):
        other = f"the last accepted run {accepted.run_id} measured another distribution"
        return None, None, f"{other}, {known.name}"
    reference = subject_of(
        known.file,
        data,
        source="ledger",
        chosen_by=f"wheel of the last accepted run {accepted.run_id}",
    )
    return reference, data, reference.chosen_by


def keep_comparable(
    chosen: tuple[Subject | None, bytes | None, str],
    *,
    plan: Plan,
    subject: Subject,
    own: Collection[str],
    local_root: Path,
) -> tuple[Subject | None, bytes | None, str]:
    """Drop a reference that the subject's plan does not fit, with the reason.

    Parameters
    ----------
    chosen
        From :func:`choose_reference`.
    plan, subject, own
        See :func:`check_reference`.
    local_root
        Folder of this host's unpacked wheels.

    Raises
    ------
    WheelError
        When it was given by hand: then a comparison was asked for that there cannot be.
    """
    reference, data, reason = chosen
    if reference is None or set(own).isdisjoint(c.cell.workload for c in plan.cells):
        return chosen
    try:
        with workloads_with(reference, data, local_root=local_root) as known:
            why = check_reference(reference, known, plan, subject, own)
    except (WheelError, DeployError) as err:
        why = f"the workloads of {reference.file} cannot be loaded: {err.message}: {err.found}"
    if why is None:
        return chosen
    if reference.chosen_by == BY_HAND:
        raise WheelError(
            "the reference cannot be measured by the plan of the wheel under test",
            found=why,
            todo="leave --against out, or name a wheel whose workloads have the same versions",
        )
    return None, None, f"{reason} was left out: {why}"
