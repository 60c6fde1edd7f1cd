"""Templates to HTML. Everything that is put in is escaped."""

from __future__ import annotations

import functools
from typing import Any

import jinja2


def render(template: str, **values: Any) -> str:
    """Render one of the package's templates.

    Parameters
    ----------
    template
        Its file name.
    **values
        What it shows; ``root`` is the path that the application is mounted at.
    """
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("daskperf_tasks.browse", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
