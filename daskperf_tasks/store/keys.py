"""Where everything lies in a store; nothing here touches one.

::

    profiles/<run_id>/...          a run; manifest.json is written last
    history/<run_id>.parquet       its figures as rows, rebuildable
    published/<run_id>.json        in a spool only: this run has been published
    wheels/<sha256>/<file name>    wheels by content
"""

from __future__ import annotations

import re

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Arm, run_time, slug

RUNS = "profiles/"
HISTORY = "history/"
PUBLISHED = "published/"
WHEELS = "wheels/"
MANIFEST = "manifest.json"
#: Answers of the experiments, in runs that have any.
EXPERIMENTS = "experiments.json"

#: Some object servers answer long keys with an internal error; stay well below.
_MAX_KEY_BYTES = 800
_MAX_SEGMENT_BYTES = 200
_SHA256 = re.compile(r"^[0-9a-f]{64}\Z")
#: The evidence: written once, and never replaced, not even by a rebuild.
_EVIDENCE = ("plan.json", "subject.json", "blocks/", "streams/")

#: Records of the stages that run when the manifest is written already.
_AFTER_MANIFEST = ("stages/publish.json", "stages/notify.json", "stages/gate.json")


def check_key(key: str) -> str:
    """Return ``key`` if it may name an object.

    Segments are not empty and do not start with a dot (hidden files are a
    store's own, and ``..`` would leave it).

    Raises
    ------
    InputError
        When it may not.

    Examples
    --------
    >>> check_key("profiles/20261130T010203Z-616263/plan.json")
    'profiles/20261130T010203Z-616263/plan.json'
    """
    segments = key.split("/")
    fits = (
        len(key.encode("utf-8", "replace")) <= _MAX_KEY_BYTES
        and all(s and not s.startswith(".") for s in segments)
        and all(len(s.encode("utf-8", "replace")) <= _MAX_SEGMENT_BYTES for s in segments)
        and key.isprintable()
        and "\\" not in key
    )
    if not fits:
        raise InputError(
            "not a valid key of an artifact",
            expected="a relative path whose parts are not empty and do not start with a dot",
            found=repr(key[:200]),
        )
    return key


def check_prefix(prefix: str) -> str:
    """Return ``prefix`` if keys may start with it: empty, or a key, or a key and ``/``."""
    if prefix:
        check_key(prefix.removesuffix("/"))
    return prefix


def run_prefix(run_id: str) -> str:
    """Return what all keys of a run start with (InputError when it is no run id).

    Examples
    --------
    >>> run_prefix("20261130T010203Z-616263")
    'profiles/20261130T010203Z-616263/'
    """
    run_time(run_id)
    return f"{RUNS}{run_id}/"


def run_key(run_id: str, *parts: str) -> str:
    """Return the key of a run's artifact.

    Examples
    --------
    >>> run_key("20261130T010203Z-616263", "local", "summary.json")
    'profiles/20261130T010203Z-616263/local/summary.json'
    """
    return check_key(run_prefix(run_id) + "/".join(parts))


def block_file(run_id: str, cell_id: str, arm: Arm, round_index: int, attempt: int) -> str:
    """Return the key of an attempt at a block.

    Examples
    --------
    >>> block_file("20261130T010203Z-616263", "w/v1;env=local;sched=ws", "subject", 0, 1)
    'profiles/20261130T010203Z-616263/blocks/w-v1_env-local_sched-ws-599aa644/subject-r0-a1.json'
    """
    return run_key(run_id, "blocks", slug(cell_id), f"{_stem(arm, round_index, attempt)}.json")


def stream_file(run_id: str, cell_id: str, arm: Arm, round_index: int, attempt: int) -> str:
    """Return the key of the task stream of an attempt at a block."""
    return run_key(run_id, "streams", slug(cell_id), f"{_stem(arm, round_index, attempt)}.parquet")


def experiment_plot(run_id: str, name: str) -> str:
    """Return the key of an experiment's plot.

    Examples
    --------
    >>> experiment_plot("20261130T010203Z-616263", "task-size")
    'profiles/20261130T010203Z-616263/experiments/task-size.svg'
    """
    return run_key(run_id, "experiments", f"{name}.svg")


def _stem(arm: Arm, round_index: int, attempt: int) -> str:
    return f"{arm}-r{round_index}-a{attempt}"


def wheel_file(sha256: str, file: str) -> str:
    """Return the key of a wheel."""
    if not _SHA256.match(sha256):
        raise InputError("not a sha256", expected="64 lower case hex digits", found=sha256[:80])
    return check_key(f"{WHEELS}{sha256}/{file}")


def history_file(run_id: str) -> str:
    """Return the key of a run's rows in the history."""
    run_time(run_id)
    return f"{HISTORY}{run_id}.parquet"


def published_file(run_id: str) -> str:
    """Return the key, in a spool, of the note that a run has been published."""
    run_time(run_id)
    return f"{PUBLISHED}{run_id}.json"


def parse_run_id_of(key: str) -> str | None:
    """Return the run that a key belongs to, or None.

    Examples
    --------
    >>> parse_run_id_of("profiles/20261130T010203Z-616263/local/summary.json")
    '20261130T010203Z-616263'
    >>> parse_run_id_of("history/20261130T010203Z-616263.parquet")
    '20261130T010203Z-616263'
    >>> parse_run_id_of("wheels/README") is None
    True
    """
    head, _, rest = key.partition("/")
    candidate = rest.partition("/")[0]
    if f"{head}/" in (HISTORY, PUBLISHED):
        candidate = rest.rpartition(".")[0]
    elif f"{head}/" != RUNS:
        return None
    return candidate if is_run_id(candidate) else None


def is_run_id(text: str) -> bool:
    """Whether this is a run id."""
    try:
        run_time(text)
    except (InputError, ValueError):
        return False
    return True


def is_evidence(name: str) -> bool:
    """Whether an artifact (its key below the run) is raw evidence, written once for ever.

    Examples
    --------
    >>> is_evidence("plan.json"), is_evidence("blocks/x/subject-r0-a1.json")
    (True, True)
    >>> is_evidence("report.html")
    False
    """
    return any(name == e or (e.endswith("/") and name.startswith(e)) for e in _EVIDENCE)


def in_manifest(name: str) -> bool:
    """Whether a manifest lists an artifact (its key below the run).

    It lists neither itself nor what the stages after it leave in the spool.

    Examples
    --------
    >>> in_manifest("plan.json"), in_manifest("manifest.json"), in_manifest("stages/publish.json")
    (True, False, False)
    """
    return name != MANIFEST and name not in _AFTER_MANIFEST
