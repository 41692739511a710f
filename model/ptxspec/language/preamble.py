"""What stands at the head of a module."""

from __future__ import annotations

import re

from ptxspec import contracts
from ptxspec.language import cited
from ptxspec.language.diagnostics import Complaints
from ptxspec.language.module_context import Context
from ptxspec.language.suggestions import did_you_mean


def has_version(complaints: Complaints, position: int, version: tuple[int, int]) -> bool:
    """Whether there is such a version; complains if not."""
    return complaints.require(contracts.directives.is_a_version, position, version)


def has_target(complaints: Complaints, position: int, target: str, version: tuple[int, int] | None) -> bool:
    """Whether there is such a target in a module of that version (None: of any); complains if not."""
    page = contracts.directives
    name = re.sub("^compute_", "sm_", target)
    if name not in page.TARGETS:
        said = f"{target} is no known target{did_you_mean(target, page.TARGETS)}"
        complaints.add(position, said, cited.DIRECTIVES)
        return False
    return version is None or complaints.require(page.version_has_target, position, name, version, written=target)


def preamble(context: Context) -> None:
    """Complain of a version and a target that do not exist, or do not agree."""
    page, require = contracts.directives, context.require
    module = context.module
    if not has_version(context.complaints, module.version_position, module.version):
        return
    target, *options = module.target
    has_target(context.complaints, module.target_position, target, module.version)
    for option, position in zip(options, module.option_positions, strict=True):
        if option not in page.OPTIONS:
            said = f"{option} is no option of .target{did_you_mean(option, page.OPTIONS)}"
            context.complain(position, said, cited.DIRECTIVES)
            continue
        require(page.version_has_option, position, option, module.version)
        require(page.target_has_option, position, option, context.target)
    modes = [p for o, p in zip(options, module.option_positions, strict=True) if o.startswith("texmode_")]
    if modes:
        require(page.has_one_texture_mode, modes[-1], options)
    if module.address_size_position is not None:
        context.since(".address_size", module.address_size_position)
        require(page.has_addresses_of, module.address_size_position, module.address_size, context.target)
    for what, position in module.uses:
        context.since(what, position)
