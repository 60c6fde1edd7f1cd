"""Wheel sources belong to deploy; they stand on the store and are tested with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from daskperf_tasks.deploy.sources import (
    WheelFile,
    choose,
    latest,
    open_source,
    subject_of,
    wheel_by_hand,
)
from daskperf_tasks.errors import WheelError
from daskperf_tasks.store.s3 import S3Store
from tests.object_server import ObjectServer
from tests.sample_wheel import wheel_bytes

Write = Callable[[str, bytes], None]


@pytest.fixture(params=["folder", "s3"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, object_server: ObjectServer
) -> tuple[str, Write, dict[str, str] | None]:
    """A source's URL and how to put files into it."""
    if request.param == "folder":
        folder = tmp_path / "wheels"
        folder.mkdir()

        def write(file: str, data: bytes) -> None:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)

        return str(folder), write, None
    store: S3Store = request.getfixturevalue("s3")
    return store.url, store.put, object_server.client_options


def test_the_highest_version_is_taken_and_the_others_are_recorded(
    place: tuple[str, Write, dict[str, str] | None],
) -> None:
    url, write, options = place
    for version in ("0.9", "0.10.dev3+gabc", "0.10.dev12+g001", "0.2"):
        file = f"daskperf_kernels-{version}-py3-none-any.whl"
        write(file, wheel_bytes("daskperf-kernels", version))
    write("README.txt", b"not a wheel")
    subject, data = latest(open_source(url, client_options=options), "Daskperf.Kernels")
    assert subject.version == "0.10.dev12+g001"
    assert data == wheel_bytes("daskperf-kernels", "0.10.dev12+g001")
    assert subject.chosen_by == "highest version (PEP 440)"
    assert subject.passed_over == (
        "daskperf_kernels-0.10.dev3+gabc-py3-none-any.whl (0.10.dev3+gabc)",
        "daskperf_kernels-0.9-py3-none-any.whl (0.9)",
        "daskperf_kernels-0.2-py3-none-any.whl (0.2)",
    )
    assert subject.source == url
    assert (subject.name, subject.import_name) == ("daskperf-kernels", "daskperf_kernels")
    assert subject.size_bytes == len(data)


def test_bad_files_do_not_stand_in_the_way_and_are_named(
    place: tuple[str, Write, dict[str, str] | None],
) -> None:
    url, write, options = place
    good = wheel_bytes("daskperf-kernels", "1.0")
    write("older/daskperf_kernels-1.0-py3-none-any.whl", good)
    write("daskperf_kernels-9.0-py3-none-any.whl", b"not a zip file")
    write("daskperf_kernels-8.0-py3-none-any.whl", good)
    write("daskperf_kernels-7.0-cp27-cp27m-win32.whl", good)
    write("numpy-9.0-py3-none-any.whl", wheel_bytes("numpy", "9.0"))
    write("kernels.whl", good)
    subject, data = latest(open_source(url, client_options=options), "daskperf-kernels")
    assert (subject.version, data) == ("1.0", good)
    reasons = "\n".join(subject.passed_over)
    assert "ignored numpy-9.0-py3-none-any.whl: another distribution (numpy)" in reasons
    assert "daskperf_kernels-9.0-py3-none-any.whl: not a wheel: it is no zip file" in reasons
    assert "daskperf_kernels-8.0-py3-none-any.whl: the wheel's file name and its" in reasons
    assert "cp27-cp27m-win32, not for this Python" in reasons
    assert "ignored kernels.whl: not the file name of a wheel" in reasons
    assert len(subject.passed_over) == 5


def test_without_a_wheel_it_says_where_it_looked_and_what_to_do(
    place: tuple[str, Write, dict[str, str] | None],
) -> None:
    url, write, options = place
    source = open_source(url, client_options=options)
    with pytest.raises(WheelError, match="there is no wheel of daskperf-kernels") as caught:
        latest(source, "daskperf-kernels")
    assert caught.value.where == url
    assert "make nightly" in str(caught.value)
    write("daskperf_kernels-9.0-py3-none-any.whl", b"broken")
    with pytest.raises(WheelError, match="there is no wheel") as caught:
        latest(source, "daskperf-kernels")
    assert "daskperf_kernels-9.0-py3-none-any.whl: not a wheel" in str(caught.value)


def test_a_folder_that_does_not_exist_has_no_wheel(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="there is no wheel") as caught:
        latest(open_source(str(tmp_path / "nowhere")), "daskperf-kernels")
    assert str(tmp_path / "nowhere") in str(caught.value)


def test_of_equal_versions_the_newest_file_is_taken(tmp_path: Path) -> None:
    for n, folder in enumerate(("b", "c", "a")):
        path = tmp_path / folder / "daskperf_kernels-1.0-py3-none-any.whl"
        path.parent.mkdir()
        path.write_bytes(wheel_bytes("daskperf-kernels", "1.0", extra=folder))
        os.utime(path, (1000 + n, 1000 + n))
    subject, data = latest(open_source(tmp_path.as_uri()), "daskperf-kernels")
    assert data == wheel_bytes("daskperf-kernels", "1.0", extra="a")
    assert subject.chosen_by == ("highest version (PEP 440), the newest of 3 files of that version")
    assert len(subject.passed_over) == 2


def _file(version: str, modified: float = 0.0) -> WheelFile:
    name = f"x-{version}-py3-none-any.whl"
    return WheelFile(
        file=name, key=name, name="x", version=version, modified=modified, size_bytes=1
    )


def test_choosing_is_by_pep_440_and_not_by_spelling() -> None:
    versions = ["1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0+local.2", "1.0+local.10", "1.0.post1"]
    wheels = [_file(v) for v in reversed([*versions, "1!0.1", "0.99"])]
    best, _, passed_over = choose(wheels, "x")
    assert best.version == "1!0.1"
    assert [p.partition(" ")[2] for p in passed_over] == [
        f"({v})" for v in [*reversed(versions), "0.99"]
    ]


def test_choosing_from_nothing() -> None:
    with pytest.raises(WheelError, match="there is no wheel of x") as caught:
        choose([], "x", where="/srv/wheels")
    assert "/srv/wheels" in str(caught.value)


def test_a_wheel_given_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "daskperf_kernels-1.0-py3-none-any.whl"
    path.write_bytes(wheel_bytes("daskperf-kernels", "1.0"))
    subject, data = wheel_by_hand(path)
    assert (subject.version, subject.source, subject.chosen_by) == (
        "1.0",
        str(tmp_path),
        "given by hand",
    )
    assert subject == subject_of(path, data, source=str(tmp_path), chosen_by="given by hand")
    with pytest.raises(WheelError, match="cannot be read") as caught:
        wheel_by_hand(tmp_path / "none.whl")
    assert str(tmp_path / "none.whl") in str(caught.value)
