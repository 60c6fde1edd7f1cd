from __future__ import annotations

import hashlib
import io
import stat
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.deploy.wheel_facts import read_wheel, split_file_name
from daskperf_tasks.errors import WheelError
from tests.sample_wheel import wheel_bytes

FILE = "my_kernels-1.0-py3-none-any.whl"
INFO = "my_kernels-1.0.dist-info"


def test_a_good_wheel_tells_what_it_is() -> None:
    data = wheel_bytes("my-kernels", "1.0")
    facts = read_wheel(FILE, data)
    assert (facts.name, facts.version, facts.import_name) == ("my-kernels", "1.0", "my_kernels")
    assert facts.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "file", ["x.whl", "my_kernels-1.0.tar.gz", "my_kernels-one-py3-none-any.whl"]
)
def test_what_is_not_named_like_a_wheel_is_refused(file: str) -> None:
    with pytest.raises(WheelError, match="not the file name of a wheel"):
        split_file_name(file)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip", wheel_bytes("my-kernels", "1.0")[:-30]], ids=len
)
def test_what_is_no_zip_file_is_refused(data: bytes) -> None:
    with pytest.raises(WheelError, match="no zip file, or a damaged one"):
        read_wheel(FILE, data)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_changed_byte_is_noticed_or_harmless(data: st.DataObject) -> None:
    """Never another error than ours, and never other facts about other content."""
    good = wheel_bytes("my-kernels", "1.0")
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    try:
        facts = read_wheel(FILE, bytes(bad))
    except WheelError:
        return
    assert (facts.name, facts.version) == ("my-kernels", "1.0")
    assert facts.sha256 != hashlib.sha256(good).hexdigest()


@pytest.mark.parametrize(
    "path",
    [
        "../evil.py",
        "my_kernels/../../evil.py",
        "/etc/evil.py",
        "..\\evil.py",
        "C:/evil.py",
        "a//b.py",
        "./evil.py",
        "my_kernels/.",
    ],
)
def test_paths_that_would_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(WheelError, match="must not be unpacked") as caught:
        read_wheel(FILE, wheel_bytes("my-kernels", "1.0", files={path: "evil"}))
    assert "do not use it" in str(caught.value)


def test_a_symbolic_link_is_refused() -> None:
    buffer = io.BytesIO(wheel_bytes("my-kernels", "1.0"))
    with zipfile.ZipFile(buffer, "a") as archive:
        link = zipfile.ZipInfo("my_kernels/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(WheelError, match="symbolic link"):
        read_wheel(FILE, buffer.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused() -> None:
    buffer = io.BytesIO(wheel_bytes("my-kernels", "1.0"))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("my_kernels/__init__.py", "other")
    with pytest.raises(WheelError, match="two files"):
        read_wheel(FILE, buffer.getvalue())


def test_a_file_that_is_not_what_the_record_says_is_refused() -> None:
    record = f"my_kernels/__init__.py,sha256={'A' * 43},10\n"
    data = wheel_bytes("my-kernels", "1.0", files={f"{INFO}/RECORD": record})
    with pytest.raises(WheelError, match=r"not what its RECORD says: my_kernels/__init__\.py"):
        read_wheel(FILE, data)


@pytest.mark.parametrize(
    "metadata",
    [
        "Name: other\nVersion: 1.0\n\n",
        "Name: my-kernels\nVersion: 1.1\n\n",
        "Name: my-kernels\nVersion: one\n\n",
        "\n",
    ],
)
def test_a_name_that_disagrees_with_the_content_is_refused(metadata: str) -> None:
    with pytest.raises(WheelError, match="disagree") as caught:
        read_wheel(FILE, wheel_bytes("my-kernels", "1.0", metadata=metadata))
    assert caught.value.expected == "my-kernels 1.0"


@pytest.mark.parametrize("part", ["METADATA", "RECORD"])
def test_a_wheel_without_its_description_is_refused(part: str) -> None:
    with pytest.raises(WheelError, match="a part is missing") as caught:
        read_wheel(FILE, wheel_bytes("my-kernels", "1.0", without=(f"{INFO}/{part}",)))
    assert caught.value.expected == f"{INFO}/{part}"


def test_two_descriptions_are_refused() -> None:
    extra = {"other-2.0.dist-info/METADATA": "Name: other\nVersion: 2.0\n\n"}
    with pytest.raises(WheelError, match=r"one \.dist-info folder"):
        read_wheel(FILE, wheel_bytes("my-kernels", "1.0", files=extra))


@pytest.mark.parametrize(
    ("files", "top_level", "module"),
    [
        ({}, "_private\nmy_kernels\nother\n", "my_kernels"),
        ({}, "_private\nother\n", "other"),
        ({}, "_private\n", "_private"),
        ({"aaa/__init__.py": ""}, None, "my_kernels"),
    ],
)
def test_the_import_name_is_the_usual_one_or_the_first_public_one(
    files: dict[str, str], top_level: str | None, module: str
) -> None:
    path = f"{INFO}/top_level.txt"
    listed = {} if top_level is None else {path: top_level}
    without = (path,) if top_level is None else ()
    data = wheel_bytes("my-kernels", "1.0", files={**files, **listed}, without=without)
    assert read_wheel(FILE, data).import_name == module


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("fast.py", "fast"),
        ("fast.cpython-311-x86_64-linux-gnu.so", "fast"),
        ("fast/deep/x.py", "fast"),
        ("my_kernels-1.0.data/platlib/fast/x.so", "fast"),
    ],
)
def test_without_top_level_the_files_tell_the_import_name(path: str, module: str) -> None:
    data = wheel_bytes(
        "my-kernels",
        "1.0",
        files={path: "", "my_kernels-1.0.data/scripts/run": ""},
        without=(f"{INFO}/top_level.txt", "my_kernels/__init__.py"),
    )
    assert read_wheel(FILE, data).import_name == module


def test_a_wheel_without_a_module_is_refused() -> None:
    without = (f"{INFO}/top_level.txt", "my_kernels/__init__.py")
    with pytest.raises(WheelError, match="no module that could be imported"):
        read_wheel(FILE, wheel_bytes("my-kernels", "1.0", without=without))
