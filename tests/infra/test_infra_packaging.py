from __future__ import annotations

import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_every_package_is_in_the_wheel() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    there = set()
    for name, folder in (("daskperf_tasks", "daskperf_tasks"), ("daskperf_infra", "infra")):
        for module in (CHECKOUT / folder).rglob("*.py"):
            below = module.parent.relative_to(CHECKOUT / folder).parts
            there.add(".".join((name, *below)))
    assert there <= listed, "add these to [tool.setuptools] packages in pyproject.toml"
    for package in listed:
        top, *below = package.split(".")
        folder = CHECKOUT / ("infra" if top == "daskperf_infra" else top)
        assert folder.joinpath(*below).is_dir(), f"{package} is listed but does not exist"
