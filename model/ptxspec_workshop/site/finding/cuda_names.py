"""The names of CUDA C++ by which readers look for an instruction or a special register, such as `__popc` and `threadIdx.x`."""

from __future__ import annotations

from ptxspec_workshop.site import cuda_names


def names() -> tuple[tuple[str, str], ...]:
    """Each name with a page that says what is compiled to (a document's name), the page that a reader means most often first:
    what the name is directly compiled to before what is a part of it."""
    ordered = sorted(cuda_names.names(), key=lambda name: not name.direct)
    return tuple((name.plain, name.page.removesuffix(".md")) for name in ordered)
