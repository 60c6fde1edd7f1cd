from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_infra.local.secret_files import load_secrets
from daskperf_infra.local.state import Layout
from daskperf_tasks.errors import StackError


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(home=tmp_path / "state", checkout=tmp_path)
    found.make()
    return found


def test_only_the_owner_may_read_them(layout: Layout) -> None:
    load_secrets(layout)
    assert layout.home.stat().st_mode & 0o777 == 0o700
    assert layout.secrets.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in layout.secrets.iterdir()}
    assert modes == dict.fromkeys(
        (
            "airflow_passwords.json",
            "jwt_secret",
            "api_secret_key",
            "fernet_key",
            "s3_access_key",
            "s3_secret_key",
        ),
        0o600,
    )


def test_they_are_made_once_and_differ_between_stacks(layout: Layout, tmp_path: Path) -> None:
    first = load_secrets(layout)
    assert load_secrets(layout) == first
    other = Layout(home=tmp_path / "other", checkout=tmp_path)
    other.make()
    second = load_secrets(other)
    assert second.jwt_secret != first.jwt_secret
    assert second.airflow_passwords != first.airflow_passwords


def test_they_are_long_enough_and_not_shown(layout: Layout) -> None:
    secrets = load_secrets(layout)
    assert len(secrets.jwt_secret) >= 64
    assert min(len(p) for p in secrets.airflow_passwords.values()) >= 20
    assert secrets.jwt_secret not in repr(secrets)
    assert secrets.airflow_passwords["admin"] not in repr(secrets)


def test_a_loosened_mode_is_tightened(layout: Layout) -> None:
    load_secrets(layout)
    (layout.secrets / "jwt_secret").chmod(0o644)
    layout.secrets.chmod(0o755)
    load_secrets(layout)
    assert (layout.secrets / "jwt_secret").stat().st_mode & 0o777 == 0o600
    assert layout.secrets.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", ["", "{}", "[1]", "not json hunter2"])
def test_a_broken_file_is_named_but_not_shown(layout: Layout, content: str) -> None:
    load_secrets(layout)
    layout.passwords_file.write_text(content)
    with pytest.raises(StackError) as caught:
        load_secrets(layout)
    assert str(layout.passwords_file) in str(caught.value)
    assert "hunter2" not in str(caught.value)
