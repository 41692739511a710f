"""What stands at the head of a module."""

from __future__ import annotations

import re

from ptxspec import contracts
from ptxspec.language import cited, tree
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
        message = f"{target} is no known target{did_you_mean(target, page.TARGETS)}"
        complaints.add(position, message, cited.DIRECTIVES)
        return False
    return version is None or complaints.require(page.version_has_target, position, name, version, written=target)


def target_and_options(context: Context, target: tree.ArchitectureTarget) -> None:
    """Complain of a target or an option that does not exist, or not in the module's version."""
    page, version = contracts.directives, context.version
    has_target(context.complaints, target.name_positions[0], target.names[0], version)
    for option, position in zip(target.names[1:], target.name_positions[1:], strict=True):
        if option not in page.OPTIONS:
            message = f"{option} is no option of .target{did_you_mean(option, page.OPTIONS)}"
            context.complain(position, message, cited.DIRECTIVES)
        else:
            context.require(page.version_has_option, position, option, version)
            context.require(page.target_has_option, position, option, context.epoch_of(target).target)


def preamble(context: Context) -> None:
    """Complain of a version and of targets, at the head and in bodies, that do not exist, or do not agree."""
    page, require = contracts.directives, context.require
    module = context.module
    if not has_version(context.complaints, module.version_position, module.version):
        return
    for target in module.targets:
        target_and_options(context, target)
    positions = [position for target in module.targets for position in target.name_positions[1:]]
    modes = [p for o, p in zip(context.options, positions, strict=True) if o.startswith("texmode_")]
    if modes:
        require(page.has_one_texture_mode, modes[-1], context.options)
    for target in module.further_targets:
        target_and_options(context, target)
        for option, position in zip(target.names[1:], target.name_positions[1:], strict=True):
            require(page.keeps_the_texture_mode, position, option, page.is_independent(context.options))
    if module.address_size_position is not None:
        context.since(".address_size", module.address_size_position)
        require(page.has_addresses_of, module.address_size_position, module.address_size, context.target)
    for what, position in module.uses:
        context.since(what, position)
