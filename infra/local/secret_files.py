"""Passwords and keys of one stack: made on first use, kept in files of mode 0600."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from daskperf_tasks.errors import StackError

from .state import Layout, write_private

ADMIN = "admin"
VIEWER = "viewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """All secrets of a stack; its ``repr`` shows none."""

    airflow_passwords: dict[str, str] = field(repr=False)
    jwt_secret: str = field(repr=False)
    api_secret_key: str = field(repr=False)
    fernet_key: str = field(repr=False)
    s3_access_key: str = field(repr=False)
    s3_secret_key: str = field(repr=False)


def load_secrets(layout: Layout) -> Secrets:
    """Read the secrets, making those that are missing.

    Raises
    ------
    StackError
        A secret's file is empty or is not what it should be.
    """
    folder = layout.secrets
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    passwords = json.dumps({name: secrets.token_urlsafe(18) for name in (ADMIN, VIEWER)})
    text = _read_or_make(layout.passwords_file, passwords)
    try:
        users = {str(k): str(v) for k, v in json.loads(text).items()}
        _ = users[ADMIN], users[VIEWER]
    except (ValueError, KeyError, AttributeError) as error:
        raise _broken(layout.passwords_file, f"a JSON object with {ADMIN} and {VIEWER}") from error
    return Secrets(
        airflow_passwords=users,
        jwt_secret=_read_or_make(folder / "jwt_secret", secrets.token_urlsafe(64)),
        api_secret_key=_read_or_make(folder / "api_secret_key", secrets.token_urlsafe(48)),
        fernet_key=_read_or_make(
            folder / "fernet_key", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        ),
        # Letters and digits only: the object server takes the pair as one CSV field.
        s3_access_key=_read_or_make(folder / "s3_access_key", secrets.token_hex(10)),
        s3_secret_key=_read_or_make(folder / "s3_secret_key", secrets.token_hex(24)),
    )


def _read_or_make(path: Path, fresh: str) -> str:
    if not path.exists():
        write_private(path, fresh + "\n")
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    text = path.read_text(encoding="utf-8").strip()
    if not text:
        raise _broken(path, "a secret")
    return text


def _broken(path: Path, expected: str) -> StackError:
    return StackError(
        "a secret of the stack cannot be used",
        where=str(path),
        expected=expected,
        found="something else (not shown)",
        todo="run `daskperf lane down`, remove the file, and `daskperf lane up` again",
    )
