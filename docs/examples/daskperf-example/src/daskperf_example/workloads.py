"""How the package's work is measured: what daskperf finds by the entry points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dask import delayed

from daskperf_example.image import blurred_digest, digest, image
from daskperf_example.text import add_up, count_page, page
from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import (
    Built,
    Checked,
    Params,
    ParamSpec,
    TaskList,
    with_defaults,
)


class Words:
    """Counts the words of ``units`` pages and adds the counts up."""

    name = "example-words"
    version = 1
    unit = "page"
    requires = ("daskperf_example",)
    params: Mapping[str, ParamSpec] = {
        "words": ParamSpec(kind=int, default=2_000, minimum=1, maximum=1_000_000)
    }

    def unit_cost_s(self, params: Params) -> float:
        """Return about 1 us a word."""
        return float(with_defaults(self, params)["words"]) * 1e-6

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return a task a page, and one that adds up."""
        words = with_defaults(self, params)["words"]
        pages = [delayed(count_page)(seed, i, words) for i in range(units)]
        return Built(collections=(delayed(add_up)(pages),))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare with a count over all pages as one text."""
        expected = _all_counts(seed, units, int(with_defaults(self, params)["words"]))
        if results != (expected,):
            raise CorrectnessError(
                "the words were not counted right", expected=str(expected), found=str(results)[:500]
            )
        return Checked(right_units=units, text="compared with one count over all pages")


@lru_cache(maxsize=16)
def _all_counts(seed: int, pages: int, words: int) -> dict[str, int]:
    return dict(Counter(" ".join(page(seed, i, words) for i in range(pages)).split()))


class Blur:
    """Blurs images; how many is a parameter, so that a matrix gives no units."""

    name = "example-blur"
    version = 1
    unit = "image"
    requires = ("daskperf_example",)
    libraries = ("numpy",)
    params: Mapping[str, ParamSpec] = {
        "images": ParamSpec(kind=int, default=8, minimum=1, maximum=10_000),
        "size": ParamSpec(kind=int, default=64, minimum=3, maximum=4_096),
    }

    def own_units(self, params: Params) -> int:
        """Return the number of images."""
        return int(with_defaults(self, params)["images"])

    def unit_cost_s(self, params: Params) -> float:
        """Return about 1 us a pixel."""
        return float(with_defaults(self, params)["size"]) ** 2 * 1e-6

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return a task an image."""
        size = with_defaults(self, params)["size"]
        arguments = tuple((seed, i, size) for i in range(units))
        return TaskList(name=self.name, function=blurred_digest, arguments=arguments).built()

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare with sums of shifted images."""
        size = int(with_defaults(self, params)["size"])
        expected = _shifted(seed, units, size)
        if results != expected:
            raise CorrectnessError(
                "an image was not blurred right", expected=str(expected[:3]), found=str(results[:3])
            )
        return Checked(right_units=units, text="compared with sums of shifted images")


@lru_cache(maxsize=16)
def _shifted(seed: int, images: int, size: int) -> tuple[str, ...]:
    import numpy as np

    steps = (-1, 0, 1)
    return tuple(
        digest(sum(np.roll(pixels, (i, j), (0, 1)) for i in steps for j in steps))
        for pixels in (image(seed, number, size) for number in range(images))
    )


WORDS = Words()
BLUR = Blur()
