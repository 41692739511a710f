"""What stands at the head of a module."""

from __future__ import annotations

import re

from ptxspec import contracts
from ptxspec.language import cited
from ptxspec.language.module_context import Context
from ptxspec.language.suggestions import did_you_mean


def version_problem(version: tuple[int, int]) -> str | None:
    """Why there is no such version, or None."""
    page = contracts.directives()
    major, minor = version
    if minor <= page.VERSIONS.get(major, -1):
        return None
    last = max(page.VERSIONS)
    return f"there is no PTX ISA {major}.{minor}; the latest is {last}.{page.VERSIONS[last]}"


def target_problem(target: str, version: tuple[int, int] | None) -> str | None:
    """Why there is no such target in a module of that version (None: of any), or None."""
    page = contracts.directives()
    since = page.TARGETS.get(re.sub("^compute_", "sm_", target))
    if since is None:
        return f"{target} is no known target{did_you_mean(target, page.TARGETS)}"
    if version is None or version >= since:
        return None
    return f"{target} needs PTX ISA {since[0]}.{since[1]}; the module says {version[0]}.{version[1]}"


def preamble(context: Context) -> None:
    """Whether the module's version and target exist, and agree."""
    page = contracts.directives()
    module = context.module
    problem = version_problem(module.version)
    if problem is not None:
        context.complain(module.version_position, problem, cited.DIRECTIVES)
        return
    target, *options = module.target
    problem = target_problem(target, module.version)
    if problem is not None:
        context.complain(module.target_position, problem, cited.DIRECTIVES)
    for option, position in zip(options, module.option_positions, strict=True):
        found = page.OPTIONS.get(option)
        if found is None:
            said = f"{option} is no option of .target{did_you_mean(option, page.OPTIONS)}"
            context.complain(position, said, cited.DIRECTIVES)
            continue
        first, before = found
        if module.version < first:
            major, minor = module.version
            needs = f"{option} needs PTX ISA {first[0]}.{first[1]}; the module says {major}.{minor}"
            context.complain(position, needs, cited.DIRECTIVES)
        if before is not None and context.target >= before:
            context.complain(position, f"{option} is for targets before sm_{before}", cited.DIRECTIVES)
    modes = [p for o, p in zip(options, module.option_positions, strict=True) if o.startswith("texmode_")]
    if len(set(options) & {"texmode_unified", "texmode_independent"}) > 1:
        context.complain(modes[-1], "a module has one texture mode", cited.DIRECTIVES)
    if module.address_size_position is not None:
        context.since(".address_size", module.address_size_position)
        if module.address_size == 32 and not context.may_be_narrow:
            problem = f"sm_{context.target} has no addresses of 32 bits"
            context.complain(module.address_size_position, problem, cited.DIRECTIVES)
    for what, position in module.uses:
        context.since(what, position)
