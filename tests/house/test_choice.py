"""Which wheel is compared with which."""

from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.deploy.choice import choose_reference, choose_subject
from daskperf_tasks.errors import InputError, WheelError
from daskperf_tasks.settings import Settings, read_settings
from tests.wheels import make_wheel

FILES = {"mine/__init__.py": "__version__ = 'x'"}
BEFORE = {"before": "20261130T010203Z-616263", "lane": "lab", "matrix": "m"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"DASKPERF_HOME": str(tmp_path), "DASKPERF_SUBJECT": "mine"})


def test_the_latest_of_the_source_is_under_test(settings: Settings) -> None:
    source = Path(settings.wheels)
    source.mkdir()
    for version in ("1.9", "1.10", "1.2"):
        make_wheel(source, "mine", version, FILES)
    subject, data = choose_subject(settings, None)
    assert (subject.name, subject.version, subject.import_name) == ("mine", "1.10", "mine")
    assert len(data) == subject.size_bytes
    assert len(subject.passed_over) == 2


def test_an_empty_source_says_where_it_looked(settings: Settings) -> None:
    with pytest.raises(WheelError) as caught:
        choose_subject(settings, None)
    assert settings.wheels in str(caught.value)


def test_by_hand_wins(settings: Settings, tmp_path: Path) -> None:
    new = make_wheel(tmp_path / "a", "mine", "2.0", FILES)
    old = make_wheel(tmp_path / "b", "mine", "1.0", FILES)
    subject, _ = choose_subject(settings, str(new))
    reference, data, reason = choose_reference(settings, str(old), subject, **BEFORE)
    assert reference is not None and data is not None
    assert (subject.version, reference.version, reason) == ("2.0", "1.0", "given by hand")
    with pytest.raises(InputError, match="the reference is the wheel under test"):
        choose_reference(settings, str(new), subject, **BEFORE)


def test_no_reference_has_its_reason(settings: Settings, tmp_path: Path) -> None:
    subject, _ = choose_subject(settings, str(make_wheel(tmp_path / "a", "mine", "2.0", FILES)))
    assert choose_reference(settings, "none", subject, **BEFORE)[0] is None
    nothing, data, reason = choose_reference(settings, None, subject, **BEFORE)
    assert (nothing, data) == (None, None)
    assert reason == "there is no accepted run of this matrix on this lane yet"
