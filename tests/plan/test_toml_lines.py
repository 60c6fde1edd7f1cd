from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.plan.toml_lines import key_lines, line_of

from .matrices import GOOD

TRICKY = '''\
# [not.a.table]
title = "a # no comment = [x]"
"quoted key".'dotted' = 'it\\'

[a.b]
text = """
fake = 1
[fake]
""" # after
list = [
    1, # one
    { x = [2, 3], "y z" = "]" },
]
[[rows]]
k = 1979-05-27T07:32:00Z
[rows.sub]
deep.er = -1_000.5e3
[[rows]]
k = true
[[rows.inner]]
z = \'\'\'raw """ [x]\'\'\'
'''


def test_lines_of_a_tricky_text() -> None:
    tomllib.loads(TRICKY)
    lines = key_lines(TRICKY)
    assert lines[("title",)] == 2
    assert lines[("quoted key", "dotted")] == 3
    assert lines[("a", "b")] == 5
    assert lines[("a", "b", "text")] == 6
    assert lines[("a", "b", "list")] == 10
    assert lines[("a", "b", "list", 0)] == 11
    assert lines[("a", "b", "list", 1, "x")] == 12
    assert lines[("a", "b", "list", 1, "y z")] == 12
    assert lines[("rows", 0, "k")] == 15
    assert lines[("rows", 0, "sub", "deep", "er")] == 17
    assert lines[("rows", 1)] == 18
    assert lines[("rows", 1, "inner", 0, "z")] == 21
    assert not any("fake" in path for path in lines)


def test_a_path_that_is_nowhere_gets_the_line_of_what_is_around_it() -> None:
    lines = key_lines(GOOD)
    assert line_of(lines, ("workload", 1, "units")) == 23
    assert line_of(lines, ("workload", 1, "nothing", 3)) == 21
    assert line_of(lines, ("nothing",)) == 1


def _paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found: set[tuple[str | int, ...]] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= {(*path, key)} | _paths(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            found |= {(*path, i)} | _paths(inner, (*path, i))
    return found


@pytest.mark.parametrize("text", [GOOD, TRICKY])
def test_every_key_that_tomllib_sees_has_a_line(text: str) -> None:
    missing = _paths(tomllib.loads(text)) - set(key_lines(text))
    # Tables named only inside a longer header or dotted key have no line of their own.
    assert missing <= {
        ("a",),
        ("quoted key",),
        ("rows",),
        ("workload",),
        ("rows", 0, "sub", "deep"),
    } | {("rows", 1, "inner")}


_SCALAR = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.booleans().map(lambda b: "true" if b else "false"),
    st.text("ab#=[]{},'.", max_size=6).map(lambda s: f'"{s}"'),
)


@given(st.lists(st.tuples(st.text("abcdef_", min_size=1, max_size=5), _SCALAR), max_size=12))
def test_keys_of_generated_files(pairs: list[tuple[str, str]]) -> None:
    pairs = list(dict(pairs).items())
    text = "# top\n[t]\n" + "".join(f"{key} = {value} # {value}\n" for key, value in pairs)
    tomllib.loads(text)
    lines = key_lines(text)
    assert lines == {("t",): 2} | {("t", key): i + 3 for i, (key, _) in enumerate(pairs)}
