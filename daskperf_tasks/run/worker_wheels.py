"""What a worker says it imports, against the wheel that was deployed. Pure."""

from __future__ import annotations

from typing import Any

from daskperf_tasks.errors import ClusterError, DeployError
from daskperf_tasks.run.identity import Found, same_version
from daskperf_tasks.run.spec import RoundSpec

_SWITCHED = (
    "deploy again; was the wheel switched by somebody else meanwhile, or does a worker that "
    "joined later not have it?"
)


def check_answer(spec: RoundSpec, name: str, address: str, answer: Any) -> None:
    """Raise unless a worker imports the round's wheel.

    Parameters
    ----------
    answer
        A :class:`~daskperf_tasks.run.identity.Found`, or what came instead of it.

    Raises
    ------
    ClusterError
        When it does not answer or serves another wheel: that is no fault of the wheel.
    DeployError
        When the wheel is there and cannot be imported.
    """
    subject = spec.import_name
    where = f"worker {name} at {address}"
    expected = f"{subject} {spec.subject_version}"
    if spec.wheel_folder:
        expected += f" from the folder of the wheel {spec.subject_sha256}"
    if not isinstance(answer, Found):
        raise ClusterError(
            f"worker {name} did not say which {subject} it imports",
            where=where,
            expected=expected,
            found=f"{type(answer).__name__}: {answer}",
            todo="look into the log of that worker",
        )
    if answer.error is not None and answer.on_path:
        raise DeployError(
            f"{subject} cannot be imported on worker {name}", where=where, found=answer.error
        )
    right_folder = bool(answer.folder) or not spec.wheel_folder
    right_version = any(same_version(v, spec.subject_version) for v in answer.versions)
    if answer.error is not None or not right_folder or not right_version:
        versions = " or ".join(answer.versions) or "of no known version"
        raise ClusterError(
            f"worker {name} serves another {subject} than the deployed one",
            where=where,
            expected=expected,
            found=answer.error or f"{subject} {versions} from {answer.location or 'nowhere'}",
            todo=_SWITCHED,
        )
