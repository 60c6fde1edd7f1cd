from __future__ import annotations

import time
from pathlib import Path

import pytest

from daskperf_tasks.errors import MatrixError
from daskperf_tasks.plan import limits
from daskperf_tasks.plan.build import make_plan, planned_cells
from daskperf_tasks.plan.matrix_file import load_matrix, read_matrix

from .matrices import GOOD, REGISTRY


def refused(text: str) -> str:
    """Return the message of a refusal, which must come at once."""
    begin = time.perf_counter()
    with pytest.raises(MatrixError) as caught:
        load_matrix(text, where="x.toml", registry=REGISTRY)
    assert time.perf_counter() - begin < 20
    assert len(str(caught.value)) < 5000
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rounds = 3", "rounds = 100000000", "x.toml:4: 'rounds' must be a whole number from 1 to"),
        ("rounds = 3", "rounds = 1001", "from 1 to 1,000, not 1001"),
        ("repeats = 4", "repeats = 1001", "x.toml:5: 'repeats' must be a whole number from 1 to 1"),
        ("repeats = 2", "repeats = 1001", "x.toml:25: 'repeats' must be a whole number from 1 to"),
        (
            "max_attempts = 2",
            "max_attempts = 11",
            "x.toml:6: 'max_attempts' must be a whole number",
        ),
        ("timeout_s = 60", "timeout_s = 86401", "x.toml:7: 'timeout_s' must be a number from 0.1"),
        ("timeout_s = 60", "timeout_s = nan", "from 0.1 to 86,400, not nan"),
        ("timeout_s = 60", "timeout_s = inf", "from 0.1 to 86,400, not inf"),
        ("timeout_s = 5", "timeout_s = 1e9", "x.toml:26: 'timeout_s' must be a number"),
        (
            "units = 64",
            "units = 10000001",
            "x.toml:16: 'units' must be a whole number from 1 to 10",
        ),
        ("min_repeats = 1", "min_repeats = 1001", "x.toml:10: 'min_repeats' must be"),
        ("max_repeats = 3", "max_repeats = 5000", "x.toml:11: 'max_repeats' must be"),
        (
            "tolerance = 0.1",
            "tolerance = 1e12",
            "x.toml:12: 'tolerance' must be a number from 0 to",
        ),
        ("seed = 7", "seed = 1000000000000000", "x.toml:3: 'seed' must be a whole number from 0"),
        ("seed = 7", "seed = " + "9" * 9000, "x.toml:3: not valid TOML: a number of thousands"),
        ("seed = 7", "seed = 0x" + "f" * 9000, "a number of about 10,8"),
        ("n = [128, 256]", "n = 65537", "parameter 'n' of 'aggregates': 65537 is above 65,536"),
        ("n = [128, 256]", "n = 0x" + "f" * 9000, "40 digits is above 65,536"),
        ("seed = 7", "seed = " + "[" * 50_000, "x.toml:1: not valid TOML: lists or tables are"),
        ("seed = 7", "seed = {" + "a." * 100_000 + "b=1}", "x.toml:3: not valid TOML: a key of"),
        ("seed = 7", "a." * 100_000 + "b=1", "x.toml:3: not valid TOML: a key of more than 16"),
        ("seed = 7", "only = [" + '"a", ' * 1001 + "]", "'only' has 1,001 patterns; the most are"),
        (
            'environments = ["local", "remote"]',
            "environments = [" + '"local", ' * 50_000 + "]",
            "x.toml:17: 'environments' lists 50,000; there are only 6",
        ),
    ],
    ids=lambda text: text[:30],
)
def test_a_number_out_of_its_limits_is_refused_with_line_and_limit(
    old: str, new: str, says: str
) -> None:
    assert old in GOOD
    assert says in refused(GOOD.replace(old, new, 1))


def test_cells_are_counted_before_they_are_multiplied_out() -> None:
    many = f"n = {list(range(2, 5002))}\nper_task = {list(range(1, 1001))}"
    text = refused(GOOD.replace("n = [128, 256]", many))
    assert "x.toml:14: this table makes 10,000,000 cells" in text
    assert "the most are 10,000 in all" in text


def test_cells_of_several_tables_are_added_up() -> None:
    table = (
        '[[workload]]\nname = "aggregates"\nunits = 1\nenvironments = ["local"]\n'
        "params = { n = NS, per_task = TASKS }\n"
    )
    tables = [
        table.replace("NS", str(list(range(2, 6002)))).replace("TASKS", str(k)) for k in (1, 2)
    ]
    text = refused(GOOD + "".join(tables))
    assert "x.toml:37: this table makes 6,000 cells, 12,008 with those above it" in text


def test_rounds_times_cells_has_a_limit() -> None:
    text = GOOD.replace("n = [128, 256]", f"n = {list(range(2, 102))}")
    text = text.replace("rounds = 3", "rounds = 1000")
    assert "x.toml:4: 1,000 rounds of 204 cells are 204,000 blocks; the most" in refused(text)


def test_values_and_tables_have_a_limit() -> None:
    values = "n = [" + "2, " * 200_000 + "]"
    assert "has 200,000 values; the most are 10,000" in refused(
        GOOD.replace("n = [128, 256]", values)
    )
    assert "... and " in refused(GOOD + "[[workload]]\n" * 50_000)
    text = refused(GOOD.replace("seed = 7", "".join(f"k{i} = 1\n" for i in range(50_000))))
    assert "more unknown keys in [matrix]" in text or "... and" in text


def test_the_largest_matrix_is_planned() -> None:
    text = GOOD.replace("n = [128, 256]", f"n = {list(range(2, 4998))}")
    matrix = load_matrix(text.replace("rounds = 3", "rounds = 9"), where="x", registry=REGISTRY)
    assert len(planned_cells(matrix, REGISTRY)) == 9996
    plan = make_plan(
        matrix, run_id="r", created_at="t", trigger="cli", commit="c", arms=("subject",),
        registry=REGISTRY,
    )  # fmt: skip
    assert sum(len(r.order) for r in plan.rounds) <= limits.BLOCKS


def test_reading_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_matrix(file) == GOOD
    assert load_matrix("\ufeff" + GOOD, where="x", registry=REGISTRY).text == GOOD


def test_what_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(GOOD.encode() + b"# caf\xe9\n")
    with pytest.raises(MatrixError) as caught:
        read_matrix(file)
    assert "x.toml:32: not UTF-8" in caught.value.message
    assert caught.value.found == f"byte 0xe9 at position {len(GOOD) + 5} of the file"
    file.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(MatrixError, match="not UTF-8"):
        read_matrix(file)
    with pytest.raises(MatrixError, match="is a folder"):
        read_matrix(tmp_path)
    with pytest.raises(MatrixError, match="cannot be read"):
        read_matrix(tmp_path / "none.toml")
    file.write_bytes(GOOD.encode() + b"#" * limits.FILE_BYTES)
    with pytest.raises(MatrixError, match="too large") as caught:
        read_matrix(file)
    assert caught.value.expected == "at most 1,048,576 bytes"
    assert "too large" in refused(GOOD + "#" * limits.FILE_BYTES)
