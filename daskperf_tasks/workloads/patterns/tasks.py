"""The functions that the tasks of a pattern call, and what they hand on."""

from __future__ import annotations

from typing import Any, NamedTuple

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.patterns.dependences import dependences
from daskperf_tasks.workloads.patterns.kernels import iterations, run_kernel
from daskperf_tasks.workloads.splitmix import MASK, mix

#: Bytes of a tag (step and column) in a payload.
TAG_BYTES = 16


class Rule(NamedTuple):
    """What all tasks of a graph have in common; sent with each of them."""

    pattern: str
    width: int
    kernel: str
    grain: int
    payload_bytes: int
    scratch_mib: int
    seed: int


class Output(NamedTuple):
    """What a task hands on: its tag, its checksum, and as many bytes as were asked for."""

    step: int
    column: int
    #: Of the task, its kernel's digest and all its inputs; below 2^64.
    checksum: int
    #: ``int64`` of shape (payload_bytes / 16, 2), each row the tag; None without payload.
    payload: Any


def run_task(rule: Rule, step: int, column: int, read: bool, *inputs: Output) -> Output:
    """Verify the inputs, run the kernel, and hand on what follows from both.

    Parameters
    ----------
    read
        Whether a task reads the output; if none does, it gets no payload.

    Raises
    ------
    CorrectnessError
        When the inputs are not exactly the outputs of the task's dependences.
    """
    _verify(rule, step, column, inputs)
    count = iterations(rule.kernel, rule.grain, rule.seed, step, column)
    digest = run_kernel(rule.kernel, count, rule.scratch_mib)
    checksum = start_of(step, column, digest)
    for source in inputs:
        checksum = mix(checksum + source.checksum)
    payload = _payload(rule, step, column) if read and rule.payload_bytes else None
    return Output(step, column, checksum, payload)


def start_of(step: int, column: int, digest: int) -> int:
    """Return a task's checksum before its inputs."""
    return mix(mix(mix(step + 1) + column) + digest)


def collect(*outputs: Output) -> tuple[int, int]:
    """Return how many outputs nobody else reads, and the sum of their checksums mod 2^64."""
    return len(outputs), sum(output.checksum for output in outputs) & MASK


def _verify(rule: Rule, step: int, column: int, inputs: tuple[Output, ...]) -> None:
    wanted = [(step - 1, c) for c in dependences(rule.pattern, rule.width, step, column, rule.seed)]
    if [(source.step, source.column) for source in inputs] != wanted:
        raise CorrectnessError(
            "pattern: a task got other inputs than the outputs of its dependences",
            where=f"{rule.pattern}, step {step}, column {column}",
            expected=f"(step, column) {wanted}",
            found=str([(source.step, source.column) for source in inputs]),
        )
    if not rule.payload_bytes:
        return
    for source in inputs:
        found = source.payload
        if (
            getattr(found, "nbytes", 0) != rule.payload_bytes
            or not (found[:, 0] == source.step).all()
            or not (found[:, 1] == source.column).all()
        ):
            raise CorrectnessError(
                "pattern: a task got a payload that was not its dependence's",
                where=f"{rule.pattern}, step {step}, column {column}",
                expected=f"{rule.payload_bytes} bytes of ({source.step}, {source.column})",
                found=f"{getattr(found, 'nbytes', 0)} bytes",
            )


def _payload(rule: Rule, step: int, column: int) -> Any:
    import numpy as np

    payload = np.empty((rule.payload_bytes // TAG_BYTES, 2), dtype=np.int64)
    payload[:, 0], payload[:, 1] = step, column
    return payload
