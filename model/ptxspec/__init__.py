"""ptxspec: an executable, literate specification of NVIDIA's PTX ISA.

module = ptxspec.load(text)            a checked module; PtxError says what is wrong with it
module = ptxspec.link([text, …])       several that use one another's names
module.launch("kernel", grid, block, args)
module.bind("tex", ptxspec.Texture(texels, filter="linear"))
ptxspec.evaluate("add.u32 d, a, b;", a=1, b=2)
ptxspec.allowed("rcp.approx.f32 d, a;", {"d": 0.25}, a=4.0)
ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;")
ptxspec.forms("cvt")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxspec.literate.finder import install as _install_finder

__version__ = "0.1.0"

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptxspec.language.errors import PtxError
    from ptxspec.language.forms import forms
    from ptxspec.machine.errors import LaunchError
    from ptxspec.machine.images import Sampler, Surface, Texture
    from ptxspec.machine.launch import Module
    from ptxspec.query.allowed import allowed
    from ptxspec.query.evaluate import evaluate
    from ptxspec.query.prove import prove

_PLACES = {
    "PtxError": "ptxspec.language.errors",
    "LaunchError": "ptxspec.machine.errors",
    "Module": "ptxspec.machine.launch",
    "Sampler": "ptxspec.machine.images",
    "Surface": "ptxspec.machine.images",
    "Texture": "ptxspec.machine.images",
    "forms": "ptxspec.language.forms",
    "allowed": "ptxspec.query.allowed",
    "evaluate": "ptxspec.query.evaluate",
    "prove": "ptxspec.query.prove",
}

__all__ = [
    "LaunchError",
    "Module",
    "PtxError",
    "Sampler",
    "Surface",
    "Texture",
    "allowed",
    "evaluate",
    "forms",
    "link",
    "load",
    "prove",
]


_install_finder()


def load(text: str, path: str = "<ptx>") -> Module:
    """Parse and check a module's text. `path` is the name that diagnostics give it. Raises PtxError, and TypeError for bytes
    or a path: `text` is what a file holds, decoded."""
    from ptxspec.language.check import check
    from ptxspec.machine.launch import Module

    return Module(check(text, path))


def link(texts: Sequence[str], paths: Sequence[str] | None = None) -> Module:
    """Check the texts of several modules and link them to one, as spec/functions/linking.md says. `paths` are the names that
    diagnostics give them. Raises PtxError, also where a name is defined twice or nowhere."""
    from ptxspec.language.linking import link as linked
    from ptxspec.machine.launch import Module

    return Module(linked(texts, paths))


def __getattr__(name: str) -> Any:
    """What is needed is imported when it is asked for: a command that proves nothing never loads the solver."""
    import importlib

    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'ptxspec' has no attribute {name!r}")
