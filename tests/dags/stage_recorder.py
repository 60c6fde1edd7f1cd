"""Stands where ``daskperf_tasks.stages`` stands and writes down which stages were called."""

from dataclasses import dataclass, field
from types import ModuleType

from daskperf_tasks.asking import Ask
from daskperf_tasks.errors import DaskperfError, GateRed

RUN_ID = "20261130T010203Z-616263"


ONE_ARG = (
    "deploy",
    "preflight",
    "calibrate",
    "restore",
    "analyse",
    "validate",
    "report",
    "publish",
    "notify",
)


@dataclass
class Recorder:
    """Stages that only say that they were called; the named ones raise."""

    failing: dict[str, DaskperfError] = field(default_factory=dict)
    #: How often the failing ones fail; None for ever.
    passing_after: int | None = None
    rounds: int = 3
    calls: list[str] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)

    def module(self) -> ModuleType:
        stages = ModuleType("daskperf_tasks.stages")
        stages.start = self._start
        stages.measure = self._measure
        stages.gate = self._gate
        for name in ONE_ARG:
            setattr(stages, name, self._stage(name))
        return stages

    def _stage(self, name):
        def call(settings, run_id):
            assert run_id == RUN_ID
            return self._done(name)

        return call

    def _start(self, settings, ask):
        self.asked.append(ask)
        self._done("start")
        return {
            "run_id": RUN_ID,
            "rounds": list(range(self.rounds)),
            "round_names": [f"round {i + 1} of {self.rounds}, subject" for i in range(self.rounds)],
            "cells": 12,
        }

    def _measure(self, settings, run_id, round_index):
        assert run_id == RUN_ID
        return self._done(f"measure-{round_index}")

    def _gate(self, settings, run_id):
        self._done("gate")
        failed = [n for n in self.failing if n != "gate"]
        if failed and self.passing_after is None:
            raise GateRed("required stages failed", found=", ".join(failed))
        return {"green": True}

    def _done(self, name):
        self.calls.append(name)
        if name in self.failing and self.calls.count(name) <= (self.passing_after or 10**6):
            raise self.failing[name]
        return {"stage": name}
