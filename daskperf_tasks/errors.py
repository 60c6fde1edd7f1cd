"""Every error that daskperf raises on purpose.

The tree, with the exit code that the command line gives::

    DaskperfError
    ├── InputError                2   what was asked for cannot be done as asked
    │   ├── MatrixError               a matrix file: line, key, nearest valid key
    │   ├── WheelError                no such wheel, not a wheel, wrong hash
    │   ├── SchemaError               an artifact that cannot be read
    │   └── UnknownRunError           no such run in the store
    ├── InfraError                3   the cluster, the network, the store
    │   ├── ClusterError              a scheduler or worker that does not answer
    │   ├── StoreError                an object store that does not answer or lies
    │   ├── LaneBusyError             another run holds the lane
    │   └── StackError                the embedded stack
    ├── ProductError              1   the wheel under test
    │   ├── DeployError               it cannot be installed or imported
    │   └── CorrectnessError          it computes wrong answers
    ├── PreflightBlocked          1   findings that forbid measuring
    ├── ValidationFailed          1   artifacts that do not hold what they promise
    ├── GateRed                   1   something that was required failed
    ├── Interrupted             130   somebody ended the run: Ctrl-C or SIGTERM
    └── HarnessError              3   daskperf itself broke a promise

``kind`` says whose fault it is (``input``, ``infra``, ``product``, ``harness``):
an infrastructure error must never look like a slow wheel.
"""

from __future__ import annotations

from typing import ClassVar


class DaskperfError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    message
        What happened, in one sentence.
    where
        Role, host, path, line: the place.
    expected, found
        What should have been there and what was.
    todo
        What the reader can do next.
    """

    kind: ClassVar[str] = "harness"
    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        todo: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.expected = expected
        self.found = found
        self.todo = todo

    def __str__(self) -> str:
        parts = [self.message]
        for label, value in self.details.items():
            if value:
                parts.append(f"  {'what to do' if label == 'todo' else label}: {value}")
        return "\n".join(parts)

    @property
    def details(self) -> dict[str, str | None]:
        """The fields beside the message."""
        return {k: getattr(self, k) for k in ("where", "expected", "found", "todo")}

    @property
    def document(self) -> dict[str, dict[str, str | None]]:
        """What a command prints of it with ``--json``."""
        said = {"type": type(self).__name__, "kind": self.kind, "message": self.message}
        return {"error": said | self.details}

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.details))


def _rebuild(cls: type[DaskperfError], message: str, fields: dict[str, str | None]) -> object:
    return cls(message, **fields)


class InputError(DaskperfError):
    """What was asked for cannot be done as it was asked."""

    kind = "input"
    exit_code = 2


class MatrixError(InputError):
    """A matrix file that does not say what can be measured."""


class WheelError(InputError):
    """No wheel, not a wheel, or not the wheel that was promised."""


class SchemaError(InputError):
    """An artifact of an unknown kind, a newer version, or a broken one."""


class UnknownRunError(InputError):
    """The store holds no such run."""


class InfraError(DaskperfError):
    """The cluster, the network or the store failed; the wheel is not to blame."""

    kind = "infra"
    exit_code = 3


class ClusterError(InfraError):
    """A scheduler or worker that does not answer, or left."""


class StoreError(InfraError):
    """The artifact store does not answer, refuses, or gave back other bytes."""


class LaneBusyError(InfraError):
    """Another run holds the lane."""


class StackError(InfraError):
    """A service of the embedded stack did not start or stop."""


class ProductError(DaskperfError):
    """The wheel under test failed."""

    kind = "product"
    exit_code = 1


class DeployError(ProductError):
    """The wheel cannot be built, installed or imported."""


class CorrectnessError(ProductError):
    """The workload's result differs from its reference."""


class PreflightBlocked(DaskperfError):
    """Preflight found what forbids measuring."""

    kind = "infra"
    exit_code = 1


class ValidationFailed(DaskperfError):
    """The run's tables do not hold what they promise."""

    exit_code = 1


class GateRed(DaskperfError):
    """Something that was required failed; the night is red."""

    exit_code = 1


class Interrupted(DaskperfError):
    """Somebody ended the run by Ctrl-C or SIGTERM."""

    kind = "input"
    exit_code = 130


class HarnessError(DaskperfError):
    """daskperf broke one of its own promises."""
