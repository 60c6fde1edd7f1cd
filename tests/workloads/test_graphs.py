"""Properties of graphs: against a slow obvious twin, against Dask, against a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
import pytest
from dask import delayed
from dask.delayed import Delayed
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.workloads.graphs import (
    GRAPH_PARAM,
    graph_facts,
    longest_path,
    materialized,
    written_down,
)
from daskperf_tasks.workloads.protocol import Built

Graph = dict[int, set[int]]


@st.composite
def acyclic(draw: st.DrawFn) -> Graph:
    """Up to 12 tasks in an arbitrary order, each using some of those before it."""
    names = draw(st.permutations(range(draw(st.integers(0, 12)))))
    return {
        name: draw(st.sets(st.sampled_from(names[:i]))) if i else set()
        for i, name in enumerate(names)
    }


def all_paths(graph: Graph) -> Iterator[list[int]]:
    """Walk every path of a graph: slow, and plainly right."""

    def walk(path: list[int]) -> Iterator[list[int]]:
        yield path
        for dep in graph[path[-1]]:
            yield from walk([*path, dep])

    for key in graph:
        yield from walk([key])


@given(acyclic())
def test_the_longest_path_is_that_of_all_paths(graph: Graph) -> None:
    before = {key: set(deps) for key, deps in graph.items()}
    assert longest_path(graph) == max((len(p) - 1 for p in all_paths(graph)), default=0)
    assert graph == before  # nothing is taken from what was given


@given(acyclic(), st.data())
def test_a_cycle_is_refused(graph: Graph, data: st.DataObject) -> None:
    arcs = [(key, dep) for key, deps in graph.items() for dep in deps]
    user, used = data.draw(st.sampled_from(arcs)) if arcs else (0, 0)
    cyclic = {k: set(v) for k, v in graph.items()} | ({} if arcs else {0: set()})
    cyclic[used] = cyclic[used] | {user}
    with pytest.raises(CorrectnessError, match="cycle"):
        longest_path(cyclic)


@pytest.mark.parametrize("n", [1, 2, 5_000])
def test_long_chains_need_no_recursion(n: int) -> None:
    assert longest_path({i: [i - 1] if i else [] for i in range(n)}) == n - 1


def in_one_layer(tasks: Mapping[str, Any], wanted: str, *, optimize: bool = False) -> Built:
    from dask.highlevelgraph import HighLevelGraph

    graph = HighLevelGraph.from_collections("layer", dict(tasks))
    return Built(collections=(Delayed(wanted, graph, layer="layer"),), optimize_graph=optimize)


def inc(x: float) -> float:
    return x + 1


def add(*values: float) -> float:
    return sum(values)


def test_aliases_are_no_tasks_and_lead_to_what_they_stand_for() -> None:
    tasks = {"a": (inc, 1), "b": "a", "c": "b", "d": (add, "b", "c"), "e": (add, "a", "d")}
    assert graph_facts(in_one_layer(tasks, "e")) == GraphFacts(
        form="low-level", tasks=3, arcs=3, longest_path=2
    )


def test_data_is_no_task() -> None:
    tasks = {"data": 7, "a": (inc, "data"), "b": (inc, "data"), "c": (add, "a", "b", "data")}
    assert graph_facts(in_one_layer(tasks, "c")) == GraphFacts(
        form="low-level", tasks=3, arcs=2, longest_path=1
    )


def test_an_input_used_twice_is_one_arc() -> None:
    tasks = {"a": (inc, 1), "b": (add, "a", "a", "a")}
    assert graph_facts(in_one_layer(tasks, "b")).arcs == 1


@pytest.mark.parametrize("optimize", [True, False])
def test_what_the_result_does_not_need_does_not_count(optimize: bool) -> None:
    tasks = {"a": (inc, 1), "b": (inc, "a"), "unused": (inc, "a"), "more": (inc, "unused")}
    facts = graph_facts(in_one_layer(tasks, "b", optimize=optimize))
    assert (facts.tasks, facts.arcs, facts.longest_path) == (2, 1, 1)


def test_collections_share_what_they_have_in_common() -> None:
    common = delayed(inc)(1)
    built = Built(collections=(delayed(inc)(common), delayed(add)(common, 5)), optimize_graph=False)
    facts = graph_facts(built)
    assert (facts.tasks, facts.arcs, facts.longest_path) == (3, 2, 1)


def test_the_parameter_has_the_two_forms() -> None:
    assert GRAPH_PARAM.choices == ("optimized", "low-level")
    assert GRAPH_PARAM.default == "optimized"


# --- the kinds of collections, in both forms -----------------------------------


def of_delayed(form: str) -> Built:
    parts = [delayed(inc)(i) for i in range(6)]
    twos = [delayed(add)(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return Built(collections=(delayed(add)(*twos),), optimize_graph=form == "optimized")


def of_array(form: str) -> Built:
    x = da.ones((40, 40), chunks=10)
    return Built(collections=((x + x.T)[::2].sum(),), optimize_graph=form == "optimized")


def of_bag(form: str) -> Built:
    bag = db.from_sequence(range(40), npartitions=4).map(inc).filter(bool)
    return Built(collections=(bag.sum(),), optimize_graph=form == "optimized")


def of_dataframe(form: str) -> Built:
    frame = dd.from_pandas(pd.DataFrame({"k": [0, 1] * 20, "x": range(40)}), npartitions=4)
    total = frame[frame.x > 3].groupby("k").x.mean().sum()
    if form == "optimized":
        return Built(collections=(total,))
    return Built(collections=(written_down(total),), optimize_graph=False)


def of_merge(form: str) -> Built:
    frame = dd.from_pandas(pd.DataFrame({"k": [0, 1, 2, 3] * 10, "x": range(40)}), npartitions=4)

    def total() -> Any:
        merged = frame.merge(frame, on="k")
        return (merged.x_x + merged.x_y).sum()

    if form == "optimized":
        return Built(collections=(total(),))
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        return Built(collections=(written_down(total()),), optimize_graph=False)


KINDS: tuple[Callable[[str], Built], ...] = (
    of_delayed,
    of_array,
    of_bag,
    of_dataframe,
    of_merge,
)
BOTH = pytest.mark.parametrize("form", GRAPH_PARAM.choices)
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)


def test_what_was_counted_by_hand() -> None:
    found = {k.__name__: graph_facts(k("low-level")) for k in (of_delayed, of_bag)}
    # 6 + 3 + 1 calls; 4 partitions times data, map, filter, sum, and one sum of sums, where
    # the partitions' data are no tasks.
    assert found["of_delayed"] == GraphFacts(form="low-level", tasks=10, arcs=9, longest_path=2)
    assert found["of_bag"] == GraphFacts(form="low-level", tasks=13, arcs=12, longest_path=3)
    fused = graph_facts(of_bag("optimized"))
    assert fused == GraphFacts(form="optimized", tasks=5, arcs=4, longest_path=1)


@EACH
def test_optimizing_makes_no_graph_larger(kind: Callable[[str], Built]) -> None:
    low, optimized = (graph_facts(kind(form)) for form in ("low-level", "optimized"))
    assert (low.form, optimized.form) == ("low-level", "optimized")
    assert optimized.tasks <= low.tasks and optimized.longest_path <= low.longest_path


@EACH
@BOTH
def test_counting_again_gives_the_same_and_leaves_the_work_as_it_was(
    kind: Callable[[str], Built], form: str
) -> None:
    built = kind(form)
    facts = graph_facts(built)
    assert graph_facts(built) == facts == graph_facts(kind(form))
    # A shuffle by disk has other keys each time, and just as many.
    assert len(materialized(built)) == len(materialized(built))
    again = dask.compute(*built.collections, scheduler="sync", optimize_graph=built.optimize_graph)
    plain = dask.compute(*kind("optimized").collections, scheduler="sync")
    assert again == plain


@EACH
@BOTH
def test_a_pool_runs_the_tasks_the_names_and_the_last_step(
    kind: Callable[[str], Built], form: str
) -> None:
    from dask.callbacks import Callback

    ran: set[Any] = set()

    class Count(Callback):  # type: ignore[misc]
        def _posttask(self, key: Any, *_: Any) -> None:
            ran.add(key)

    built = kind(form)
    with Count():
        dask.compute(*built.collections, scheduler="threads", optimize_graph=built.optimize_graph)
    sent = as_sent(built)
    assert len(ran) == graph_facts(built).tasks + sent.names + sent.gathering


class Sent(NamedTuple):
    """What is in a graph beside its tasks when it is sent to a scheduler."""

    #: Keys that stand for other keys.
    names: int
    #: Data written into the graph.
    data: int
    #: Steps that put the partitions of a result together.
    gathering: int


def as_sent(built: Built) -> Sent:
    """Look into the graph that ``compute`` sends: with the last step, which facts leave out."""
    from dask._task_spec import Alias, DataNode, convert_legacy_graph, cull
    from dask.base import collections_to_expr
    from dask.core import flatten

    expr = collections_to_expr(built.collections, built.optimize_graph).finalize_compute()
    expr = expr.optimize()
    graph = convert_legacy_graph(expr.__dask_graph__())
    nodes = dict(cull(graph, list(flatten(expr.__dask_keys__()))))
    beside = [k for k, n in nodes.items() if isinstance(n, Alias | DataNode)]
    return Sent(
        names=sum(isinstance(nodes[k], Alias) for k in beside),
        data=sum(isinstance(nodes[k], DataNode) for k in beside),
        gathering=sum(str(k).startswith("finalize-") for k in nodes.keys() - set(beside)),
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as made,
    ):
        yield made


def keys_that_ran(client: Client, built: Built) -> int:
    """Keys in the scheduler's task stream, as a block reads it."""
    from distributed.diagnostics.task_stream import TaskStreamPlugin

    def length(dask_scheduler: Any) -> int:
        if TaskStreamPlugin.name not in dask_scheduler.plugins:
            dask_scheduler.add_plugin(TaskStreamPlugin(dask_scheduler, maxlen=100_000))
        return int(dask_scheduler.plugins[TaskStreamPlugin.name].index)

    def keys(dask_scheduler: Any, since: int) -> list[Any]:
        plugin = dask_scheduler.plugins[TaskStreamPlugin.name]
        rows = plugin.collect(count=plugin.index - since)
        return [row["key"] for row in rows]

    since = client.run_on_scheduler(length)
    futures = client.compute(list(built.collections), optimize_graph=built.optimize_graph)
    client.gather(futures)
    return len(set(client.run_on_scheduler(keys, since=since)))


@EACH
@BOTH
def test_a_cluster_runs_the_tasks_and_all_that_is_beside_them(
    client: Client, kind: Callable[[str], Built], form: str
) -> None:
    with client.as_current():
        built = kind(form)
        facts = graph_facts(built)
        sent = as_sent(built)
        ran = keys_that_ran(client, built)
    assert ran == facts.tasks + sent.names + sent.data + sent.gathering


def test_tasks_alone_run_where_there_is_nothing_beside_them(client: Client) -> None:
    built = of_delayed("low-level")
    assert as_sent(built) == (0, 0, 0)
    assert keys_that_ran(client, built) == graph_facts(built).tasks == 10


def test_written_down_takes_results_of_one_partition_only() -> None:
    frame = dd.from_pandas(pd.DataFrame({"x": range(8)}), npartitions=4)
    with pytest.raises(CorrectnessError, match="one partition") as seen:
        written_down(frame.x + 1)
    assert "4 partitions" in str(seen.value)
    [total] = dask.compute(written_down(frame.x.sum()), optimize_graph=False)
    assert total == 28
    array = da.ones(40, chunks=10).sum()
    [ones] = dask.compute(written_down(array), optimize_graph=False)
    assert float(ones) == 40.0
