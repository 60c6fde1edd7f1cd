"""A small client of Airflow's REST interface: trigger a DAG, follow it, read its logs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from daskperf_tasks.errors import StackError

_TIMEOUT_S = 30.0
_OPENER = build_opener(ProxyHandler({}))
_ENDED = frozenset({"success", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """One task instance at one moment."""

    task_id: str
    #: -1 for tasks that are not mapped.
    map_index: int
    #: None before Airflow has looked at it.
    state: str | None
    try_number: int
    #: Seconds that it ran; None before its end.
    duration_s: float | None

    @property
    def label(self) -> str:
        """Name with the index of a mapped task."""
        return self.task_id if self.map_index < 0 else f"{self.task_id}[{self.map_index}]"


@dataclass(slots=True, kw_only=True)
class AirflowClient:
    """One user's view of one Airflow.

    Parameters
    ----------
    url
        Address of the web server.
    user, password
        A user who may trigger.
    """

    url: str
    user: str
    password: str = field(repr=False)
    _token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> AirflowClient:
        """The embedded Airflow, from what `environment.stack_env` gives."""
        user = environment["DASKPERF_AIRFLOW_USER"]
        path = Path(environment["DASKPERF_AIRFLOW_PASSWORDS"])
        passwords = json.loads(path.read_text(encoding="utf-8"))
        return cls(url=environment["DASKPERF_AIRFLOW_URL"], user=user, password=passwords[user])

    def health(self) -> dict[str, Any]:
        """What the monitor says of each component."""
        return dict(self._call("GET", "/api/v2/monitor/health"))

    def ensure_pool(self, name: str, *, slots: int, description: str) -> None:
        """Make a pool when there is none of that name; a pool of another size is set right."""
        body = {"name": name, "slots": slots, "description": description, "include_deferred": True}
        path = f"/api/v2/pools/{quote(name, safe='')}"
        pool = self._call("GET", path, missing_is_none=True)
        if pool is None:
            self._call("POST", "/api/v2/pools", body)
        elif pool["slots"] != slots:
            self._call("PATCH", path, body)

    def wait_for_dag(self, dag_id: str, *, deadline_s: float = 60.0) -> None:
        """Wait until the DAG processor has read a DAG.

        Raises
        ------
        StackError
            It has not; the message has the import errors, if there are any.
        """
        until = time.monotonic() + deadline_s
        while self._call("GET", f"/api/v2/dags/{_q(dag_id)}", missing_is_none=True) is None:
            if time.monotonic() > until:
                errors = self._call("GET", "/api/v2/importErrors")["import_errors"]
                texts = [f"{e['filename']}:\n{e['stack_trace']}" for e in errors]
                raise StackError(
                    f"Airflow does not know the DAG {dag_id}",
                    where=self.url,
                    expected=f"within {deadline_s:g} s",
                    found="\n".join(texts) or "no import errors; is the file in the dags folder?",
                    todo="mend the file, or read the DAG processor's log",
                )
            time.sleep(0.5)

    def unpause(self, dag_id: str) -> None:
        """Let a DAG run."""
        self._call("PATCH", f"/api/v2/dags/{_q(dag_id)}", {"is_paused": False})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Start a run of a DAG.

        Returns
        -------
        str
            Airflow's id of the run.
        """
        body = {"logical_date": None, "conf": dict(conf or {})}
        return str(self._call("POST", f"/api/v2/dags/{_q(dag_id)}/dagRuns", body)["dag_run_id"])

    def tasks(self, dag_id: str, run_id: str) -> tuple[TaskState, ...]:
        """All task instances of a run."""
        found: list[TaskState] = []
        base = f"/api/v2/dags/{_q(dag_id)}/dagRuns/{_q(run_id)}/taskInstances"
        while True:
            page = self._call("GET", f"{base}?limit=100&offset={len(found)}")
            found += [
                TaskState(
                    task_id=t["task_id"],
                    map_index=t["map_index"],
                    state=t["state"],
                    try_number=t["try_number"],
                    duration_s=t["duration"],
                )
                for t in page["task_instances"]
            ]
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return tuple(found)

    def wait(
        self,
        dag_id: str,
        run_id: str,
        *,
        progress: Callable[[TaskState], None],
        deadline_s: float,
        interval_s: float = 1.0,
    ) -> str:
        """Follow a run to its end.

        Parameters
        ----------
        dag_id, run_id
            The run.
        progress
            Called once for each change of a task's state.
        deadline_s
            Seconds that the run may take.
        interval_s
            Seconds between looks.

        Returns
        -------
        str
            ``success`` or ``failed``.

        Raises
        ------
        StackError
            The run did not end in time; it goes on.
        """
        path = f"/api/v2/dags/{_q(dag_id)}/dagRuns/{_q(run_id)}"
        until = time.monotonic() + deadline_s
        seen: dict[tuple[str, int], tuple[str | None, int]] = {}
        while True:
            # The run's state comes first: when it has ended, so have its tasks.
            state = str(self._call("GET", path)["state"])
            for task in self.tasks(dag_id, run_id):
                key, now = (task.task_id, task.map_index), (task.state, task.try_number)
                if task.state is not None and seen.get(key) != now:
                    seen[key] = now
                    progress(task)
            if state in _ENDED:
                return state
            if time.monotonic() > until:
                raise StackError(
                    f"run {run_id} of {dag_id} has not ended",
                    where=self.url,
                    expected=f"an end within {deadline_s:g} s",
                    found=f"it is {state}",
                    todo="follow it in the browser, or look at the logs of its tasks",
                )
            time.sleep(interval_s)

    def task_log(self, dag_id: str, run_id: str, task: TaskState) -> str:
        """The log of a task's latest try, one event a line."""
        path = (
            f"/api/v2/dags/{_q(dag_id)}/dagRuns/{_q(run_id)}/taskInstances/{_q(task.task_id)}"
            f"/logs/{task.try_number}?full_content=true&map_index={task.map_index}"
        )
        content = self._call("GET", path)["content"]
        if isinstance(content, str):
            return content
        return "\n".join(_log_line(entry) for entry in content)

    def failed_task_logs(self, dag_id: str, run_id: str) -> dict[str, str]:
        """Logs of the failed tasks of a run, by task."""
        return {
            task.label: self.task_log(dag_id, run_id, task)
            for task in self.tasks(dag_id, run_id)
            if task.state == "failed"
        }

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        """What a task (not a mapped one) returned or left under a key; None when nothing."""
        path = (
            f"/api/v2/dags/{_q(dag_id)}/dagRuns/{_q(run_id)}/taskInstances/{_q(task_id)}"
            f"/xcomEntries/{_q(key)}"
        )
        entry = self._call("GET", path, missing_is_none=True)
        return None if entry is None else entry["value"]

    def _call(
        self, method: str, path: str, body: object = None, *, missing_is_none: bool = False
    ) -> Any:
        fresh = self._token is None
        if fresh:
            login = {"username": self.user, "password": self.password}
            self._token = str(self._send("POST", "/auth/token", login)["access_token"])
        try:
            return self._send(method, path, body)
        except _Refused as error:
            if error.status == 404 and missing_is_none:
                return None
            if error.status != 401 or fresh:
                raise
        # The token has run out: once more with a new one.
        self._token = None
        return self._call(method, path, body, missing_is_none=missing_is_none)

    def _send(self, method: str, path: str, body: object) -> Any:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
                text = response.read()
        except HTTPError as error:
            with error:
                detail = error.read().decode("utf-8", errors="replace")[:500]
            raise _Refused(
                f"Airflow refused {method} {path}",
                where=self.url,
                found=f"status {error.code}: {detail}",
                todo="check the request; for 401 the password, for 403 the user's role",
                status=error.code,
            ) from error
        except (URLError, OSError) as error:
            raise StackError(
                f"Airflow does not answer {method} {path}",
                where=self.url,
                found=str(getattr(error, "reason", error)),
                todo="run `daskperf lane status`, and `daskperf lane up` if it does not run",
            ) from error
        return json.loads(text) if text else None


class _Refused(StackError):
    def __init__(self, message: str, *, status: int = 0, **fields: str | None) -> None:
        super().__init__(message, **fields)
        self.status = status


def _log_line(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    parts = [str(entry[key]) for key in ("timestamp", "level") if entry.get(key)]
    line = " ".join([*parts, str(entry.get("event", ""))])
    for error in entry.get("error_detail") or ():
        line += f"\n{error.get('exc_type')}: {error.get('exc_value')}"
        for frame in error.get("frames") or ():
            line += f"\n  {frame.get('filename')}:{frame.get('lineno')} in {frame.get('name')}"
    return line


def _q(text: str) -> str:
    return quote(text, safe="")
