"""Blurring images that a seed makes."""

from __future__ import annotations

import hashlib
from typing import Any


def image(seed: int, number: int, size: int) -> Any:
    """Return a ``(size, size)`` array of numbers from 0 to 255."""
    import numpy as np

    return np.random.default_rng((seed, number)).integers(0, 256, (size, size), dtype=np.int64)


def blur(pixels: Any) -> Any:
    """Return the sums over 3 x 3 neighbours; the image goes on at the opposite edge."""
    rows, columns = pixels.shape
    out = pixels.copy()
    for i in range(rows):
        for j in range(columns):
            below, right = (i + 1) % rows, (j + 1) % columns
            total = 0
            for row in (i - 1, i, below):
                line = pixels[row]
                total += line[j - 1] + line[j] + line[right]
            out[i, j] = total
    return out


def digest(pixels: Any) -> str:
    """Return a short fingerprint of an image: what travels back instead of it."""
    return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]


def blurred_digest(seed: int, number: int, size: int) -> str:
    """Make an image, blur it, return its fingerprint."""
    return digest(blur(image(seed, number, size)))
