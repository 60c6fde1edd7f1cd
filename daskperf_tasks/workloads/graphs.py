"""Task graphs of built work: the parameter that chooses their form, and their properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.workloads.protocol import Built, ParamSpec, in_one_layer

#: The parameter ``graph`` of the workloads that can be run in both forms.
GRAPH_PARAM = ParamSpec(kind=str, default="optimized", choices=("optimized", "low-level"))


def materialized(built: Built) -> dict[Any, Any]:
    """Return the tasks of a repeat by their keys, as the scheduler gets them.

    Notes
    -----
    The same steps as those of ``dask.compute`` and of the distributed scheduler:
    collections to one expression, which optimizes itself as far as ``optimize_graph``
    lets it, lowered to a dictionary, of which the scheduler keeps what is needed for
    the result.
    """
    from dask._task_spec import convert_legacy_graph, cull
    from dask.base import collections_to_expr
    from dask.core import flatten

    expr = collections_to_expr(built.collections, built.optimize_graph).optimize()
    graph = convert_legacy_graph(expr.__dask_graph__())
    return dict(cull(graph, list(flatten(expr.__dask_keys__()))))


def written_down(collection: Any) -> Any:
    """Return a dataframe or array expression as a ``Delayed`` of its unfused tasks.

    Dask's expressions optimize themselves even when ``compute`` is told not to
    optimize; a ``Delayed`` over the lowered graph does not. Build it under
    ``dask.config.set({"dataframe.shuffle.method": "tasks"})`` to have the shuffle
    as tasks, not peer to peer.

    Parameters
    ----------
    collection
        A Dask collection with one partition (a reduction's result).

    Raises
    ------
    CorrectnessError
        When it has more than one.
    """
    expr = getattr(collection, "expr", None)
    if expr is not None:
        lowered = expr.lower_completely()
        graph, keys = lowered.__dask_graph__(), lowered.__dask_keys__()
    else:
        graph, keys = dict(collection.__dask_graph__()), collection.__dask_keys__()
    while isinstance(keys, list) and len(keys) == 1:
        keys = keys[0]
    if isinstance(keys, list):
        raise CorrectnessError(
            "only a result of one partition can be written down", found=f"{len(keys)} partitions"
        )
    name = keys[0] if isinstance(keys, tuple) else keys
    (written,) = in_one_layer(name, dict(graph), keys).collections
    return written


def graph_facts(built: Built) -> GraphFacts:
    """Count tasks, arcs and the longest path of the graph of a repeat.

    Aliases (a key that only stands for another) and data that the graph carries are no
    tasks: there is nothing to compute. A scheduler gives them to workers all the same,
    as it does the step that gathers a collection's partitions, so a task stream may
    have more keys.

    Raises
    ------
    CorrectnessError
        When the graph has a cycle.
    """
    graph = materialized(built)
    dependencies = _without_aliases(graph)
    return GraphFacts(
        form="optimized" if built.optimize_graph else "low-level",
        tasks=len(dependencies),
        arcs=sum(len(deps) for deps in dependencies.values()),
        longest_path=longest_path(dependencies),
    )


def longest_path(dependencies: Mapping[Any, Iterable[Any]]) -> int:
    """Return the number of arcs on the longest path of an acyclic graph.

    Examples
    --------
    >>> longest_path({"sum": ["a", "b"], "a": [], "b": ["a"]})
    2
    >>> longest_path({})
    0
    """
    waiting = {key: set(deps) for key, deps in dependencies.items()}
    users: dict[Any, list[Any]] = {}
    for key, deps in waiting.items():
        for dep in deps:
            users.setdefault(dep, []).append(key)
    ready = [key for key, deps in waiting.items() if not deps]
    level = dict.fromkeys(ready, 0)
    done = 0
    while ready:
        key = ready.pop()
        done += 1
        for user in users.get(key, ()):
            level[user] = max(level.get(user, 0), level[key] + 1)
            waiting[user].discard(key)
            if not waiting[user]:
                ready.append(user)
    if done < len(waiting):
        raise CorrectnessError(
            "the task graph has a cycle", found=f"{len(waiting) - done} tasks that wait for ever"
        )
    return max(level.values(), default=0)


def _without_aliases(graph: Mapping[Any, Any]) -> dict[Any, set[Any]]:
    from dask._task_spec import Alias, DataNode

    target = {key: node.target for key, node in graph.items() if isinstance(node, Alias)}

    def real(key: Any) -> Any:
        while key in target and target[key] != key:
            key = target[key]
        return key

    data = {key for key, node in graph.items() if isinstance(node, DataNode)}
    skip = data | {key for key in target if real(key) != key}
    return {
        key: {real(dep) for dep in node.dependencies} - data
        for key, node in graph.items()
        if key not in skip
    }
