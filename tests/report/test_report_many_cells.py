"""A report of very many cells stays a page that can be read."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.plan.build import planned_cells
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.report.html import OPEN_TABLES, report_html
from daskperf_tasks.report.labels import short_labels
from daskperf_tasks.workloads.registry import load_registry
from tests.report import example_night

FULL = Path(__file__).resolve().parents[2] / "matrix" / "full.toml"


def full_ids() -> list[str]:
    registry = load_registry({})
    matrix = load_matrix(FULL.read_text(encoding="utf-8"), where="full", registry=registry)
    return [c.cell_id for c in planned_cells(matrix, registry)]


def test_every_cell_of_the_full_matrix_has_a_short_name_of_its_own() -> None:
    ids = full_ids()
    labels = short_labels(ids)
    names = [labels.cell(i) for i in ids]
    assert len(set(names)) == len(ids) > 100
    assert max(map(len, names)) <= 50
    limited = [i for i in ids if parse_cell_id(i).workers is not None]
    assert any(" on 1 " in labels.cell(i) for i in limited)
    assert any(" on 2 " in labels.cell(i) for i in limited)


def test_details_are_open_while_there_are_few_and_closed_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    night = example_night.full_night()
    few = report_html(night)
    works = re.findall(r'<details class="card work" id="work-(\d+)"( open)?>', few)
    assert 2 <= len(works) <= OPEN_TABLES
    assert all(is_open for _, is_open in works)
    # One row of the overview leads to each.
    assert re.findall(r'<a href="#work-(\d+)"', few) == [number for number, _ in works]

    monkeypatch.setattr("daskperf_tasks.report.html.OPEN_TABLES", 1)
    many = report_html(night)
    closed = re.findall(r'<details class="card work" id="work-\d+"( open)?>', many)
    assert closed == [""] * len(works)
    assert "cells, each with its evidence" in many
    assert "cells, each with its evidence" not in few
    # Nothing is left out.
    assert len(many) > len(few) - 200


def test_one_piece_of_work_needs_no_overview() -> None:
    night = example_night.full_night()
    assert not isinstance(night.comparison, Missing)
    assert not isinstance(night.local, Missing)
    assert not isinstance(night.remote, Missing)
    pair = night.comparison.sides[0]
    one = replace(
        night,
        comparison=replace(night.comparison, sides=(pair,)),
        local=replace(
            night.local, cells=tuple(c for c in night.local.cells if c.cell_id == pair.local_cell)
        ),
        remote=replace(
            night.remote,
            cells=tuple(c for c in night.remote.cells if c.cell_id == pair.remote_cell),
        ),
    )
    assert 'href="#work-1"' not in report_html(one)
    assert 'id="work-1"' in report_html(one)
