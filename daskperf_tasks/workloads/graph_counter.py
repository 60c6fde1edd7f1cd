"""Properties of graphs that nobody ran: built and counted in a process with limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.workloads.questions import Answerer, NoAnswer

#: Seconds for one graph.
TIMEOUT_S = 30.0
#: Address space of the process, GiB.
MEMORY_GIB = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A repeat of a workload, as a cell would build it."""

    workload: str
    params: tuple[tuple[str, Scalar], ...]
    units: int
    seed: int
    #: Whether a cluster is there when it is built: Dask then shuffles peer to peer.
    cluster: bool


class GraphCounter:
    """Counts graphs one after another; a context manager.

    A graph that takes too long or too much costs its own answer: the process is
    ended and the next graph gets a new one.

    Parameters
    ----------
    timeout_s
        Limit of each graph; the first one's includes the start of the process.
    memory_gib
        Address space of the process.
    path
        Folders that are first on its import path, such as that of an unpacked wheel.
    hash_seed
        ``PYTHONHASHSEED`` of the process. What Dask fuses may depend on the order of
        sets: with None a graph can differ from one process to the next, as it does
        when it is run.
    """

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        memory_gib: float = MEMORY_GIB,
        path: Sequence[str] = (),
        hash_seed: int | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._memory = int(memory_gib * 2**30)
        self._path = tuple(path)
        self._more = {} if hash_seed is None else {"PYTHONHASHSEED": str(hash_seed)}
        self._process: Answerer | None = None

    def __enter__(self) -> GraphCounter:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def count(self, work: Work) -> GraphFacts | Missing:
        """Return the properties of a graph, or why they are not known."""
        process = self._process = self._process or self._start()
        question = asdict(work) | {"params": dict(work.params)}
        try:
            said = process.ask(question, self._timeout_s)
        except NoAnswer as err:
            self._end()
            if err.code is None:
                return Missing(missing=f"it was not built within {self._timeout_s:g} s")
            return Missing(missing=f"the process that built it ended (code {err.code})")
        if "error" in said:
            return Missing(missing=str(said["error"]))
        return GraphFacts(**said["ok"])

    def _start(self) -> Answerer:
        module = "daskperf_tasks.workloads.graph_child"
        return Answerer(module, str(self._memory), path=self._path, environ=self._more)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()
