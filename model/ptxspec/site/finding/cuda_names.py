"""The names of CUDA C++ by which readers look for an instruction or a special register, such as `__popc` and `threadIdx.x`."""

from __future__ import annotations


def names() -> tuple[tuple[str, str], ...]:
    """Each name with a page that says what is compiled to (a document's name), the page that a reader means most often first."""
    return ()
