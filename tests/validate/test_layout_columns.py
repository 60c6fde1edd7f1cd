import dataclasses

import pytest

from daskperf_tasks.model.block import Member
from daskperf_tasks.validate.layout import layout_columns
from tests.validate.good_run import blocks, preflight, worker


def lane(*workers):
    return dataclasses.replace(preflight(), facts=workers)


def columns(env, *workers, use=None):
    found = layout_columns(blocks()[0], env, lane(*workers), workers=use)
    return found["lane_threads"], found["lane_processes"], found["lane_members"]


TWO = (worker("lane-b", 4), worker("lane-a", 2))


@pytest.mark.parametrize(
    ("env", "threads", "processes", "members"),
    [
        ("remote", 6, 2, "lane-a/2, lane-b/4"),
        ("remote-processes", 2, 2, "lane-a/2, lane-b/4"),
        ("remote-threads", 2, 1, "lane-a/2, lane-b/4"),
        ("local", 4, 2, "any/2, any/2"),
        ("threads", 2, 1, "any/2"),
        ("processes", 2, 2, "any/1, any/1"),
    ],
)
def test_what_each_environment_must_have(env, threads, processes, members):
    assert columns(env, *TWO) == (threads, processes, members)


@pytest.mark.parametrize(
    ("env", "use", "threads", "processes", "members"),
    [
        ("remote", 1, 2, 1, "lane-a/2, lane-b/4"),
        ("remote", 2, 6, 2, "lane-a/2, lane-b/4"),
        ("remote-processes", 1, 1, 1, "lane-a/2, lane-b/4"),
        ("remote-threads", 1, 1, 1, "lane-a/2, lane-b/4"),
        ("local", 1, 2, 1, "any/2, any/2"),
        ("threads", 1, 1, 1, "any/1"),
        ("threads", 4, 4, 1, "any/4"),
        ("processes", 1, 1, 1, "any/1"),
    ],
)
def test_a_cell_may_use_some_of_the_workers(env, use, threads, processes, members):
    assert columns(env, *TWO, use=use) == (threads, processes, members)


def test_a_name_that_is_an_address_may_have_changed():
    nameless = (worker("tcp://10.0.0.1:4001"), worker("tcp://10.0.0.2:4002"))
    assert columns("remote", *nameless) == (4, 2, "any/2, any/2")
    assert columns("remote-threads", *nameless)[0] == 2
    unlike = (worker("tcp://10.0.0.1:4001"), worker("tcp://10.0.0.2:4002", 4))
    assert columns("remote-threads", *unlike)[0] is None
    seen = dataclasses.replace(
        blocks()[0],
        members_before=(Member(name="tcp://10.0.0.1:5005", worker_id="x", nthreads=2),),
        members_after=(Member(name="lane-a", worker_id="x", nthreads=2),),
    )
    assert layout_columns(seen, "remote", lane(*TWO))["members"] == "any/2; then lane-a/2"


def test_without_preflight_nobody_can_tell():
    found = layout_columns(blocks()[0], "remote", None)
    assert (found["lane_threads"], found["lane_members"]) == (None, None)
    assert (found["threads"], found["processes"]) == (2, 1)
