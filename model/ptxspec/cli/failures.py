"""How a command fails: what it says, as text or as JSON, and its exit status. docs/reference/json.md describes both."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

import click

#: exit statuses; `prove` gives FAILED to what is no answer, and has a status of its own for `vacuous`
DONE, ANSWER_IS_NO, FAILED, INTERNAL, INTERRUPTED, NOBODY_READS = 0, 1, 2, 70, 130, 141
#: the kinds of failure that are an answer: the text is wrong, the program broke a rule, a result is open
_ANSWERS = ("text", "fault", "open", "unsupported")


class Failed(click.ClickException):
    """A command that fails: a message, the kind of failure, its exit status, and further fields of its JSON object."""

    def __init__(self, message: str, kind: str = "usage", status: int | None = None, **more: Any):
        super().__init__(message)
        self.kind, self.more = kind, more
        self.status = status if status is not None else ANSWER_IS_NO if kind in _ANSWERS else FAILED

    def as_dict(self) -> dict[str, Any]:
        return {"error": self.message, "kind": self.kind, "status": self.status, **self.more}


def gap_failure(mnemonic: str, gaps: Sequence[Any]) -> Failed:
    """What is said of an opcode or of a mnemonic's beginning that PTX has and that no page describes: `gaps` are its families."""
    lines = "".join(f"\n  {gap}" for gap in gaps)
    fields = ("name", "what", "since", "target", "page")
    return Failed(
        f"{mnemonic} is PTX, but no page describes it; {gaps[0].page} lists it as a gap:{lines}",
        "gap",
        ANSWER_IS_NO,
        gaps=[{field: getattr(gap, field) for field in fields} for gap in gaps],
    )


@contextmanager
def user_errors(status: int | None = None) -> Iterator[None]:
    """Within, a ValueError or a TypeError says that something was asked wrongly. `status` is that of every failure."""
    try:
        yield
    except (click.ClickException, BrokenPipeError):
        raise
    except Exception as error:
        failure = known(error)
        if failure is None and isinstance(error, ValueError | TypeError):
            failure = Failed(str(error))
        if failure is None:
            raise
        if status is not None:
            failure.status = status
        raise failure from error


def known(error: BaseException) -> Failed | None:
    """The failure that an exception stands for; None for one that nobody expects."""
    if isinstance(error, Failed):
        return error
    if isinstance(error, click.ClickException):
        return Failed(error.format_message().rstrip("."))
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return Failed("interrupted", "interrupted", INTERRUPTED)
    if isinstance(error, MemoryError):
        return Failed("out of memory", "resources")
    if isinstance(error, OSError):
        named = [os.fspath(n) for n in (error.filename, error.filename2) if isinstance(n, str | os.PathLike)]
        return Failed(": ".join([*map(str, named[:1]), error.strerror or str(error)]), "file")
    if _is(error, "ptxspec.language.diagnostics", "PtxError"):
        return Failed(str(error), "text", **error.as_dict())
    if _is(error, "ptxspec.machine.errors", "LaunchError"):
        more: dict[str, Any] = {"fault": _fault(error)}
        if error.findings:
            more["findings"] = [finding_dict(finding) for finding in error.findings]
            more["findings_omitted"] = error.findings_omitted
        return Failed("\n\n".join(map(str, (error, *error.findings))), "fault", **more)
    if _is(error, "ptxspec.terms.exact", "NoChoice"):
        return Failed(f"{error}, which the profile does not choose", "open")
    if _is(error, "ptxspec.query.outcomes", "Unsupported"):
        return Failed(str(error), "unsupported")
    return None


def unexpected(error: BaseException) -> Failed:
    """The failure of an exception that is a fault of this program."""
    import traceback

    if os.environ.get("PTXSPEC_TRACEBACK"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    at = f" ({os.path.basename(last[0].filename)}:{last[0].lineno})" if last else ""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    more = "this is a fault of ptxspec; with PTXSPEC_TRACEBACK=1 it shows where"
    return Failed(f"internal error: {message[:500]}{at}; {more}", "internal", INTERNAL)


def _is(error: BaseException, module: str, name: str) -> TypeGuard[Any]:
    """Whether an exception is of a class of a module, which is not imported for that."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def _fault(error: Any) -> dict[str, Any]:
    """The fields of a LaunchError; what a fault has not is null."""
    return {
        "rule": error.rule,
        "note": error.note,
        **_place(error.where),
        "address": error.address,
        "page": error.page,
        "other": error.other and _place(error.other),
    }


def finding_dict(finding: Any) -> dict[str, Any]:
    """The fields of what a check of a launch found."""
    return {
        "kind": finding.kind,
        "note": finding.note,
        **_place(finding.where),
        "other": finding.other and _place(finding.other),
        "space": finding.space or None,
        "address": finding.address if finding.size else None,
        "size": finding.size,
        "page": finding.page,
        "count": finding.count,
    }


def _place(where: Any) -> dict[str, Any]:
    """The fields of a thread and its instruction."""
    return {
        "thread": where and list(where.thread),
        "cta": where and list(where.cta),
        "file": where and where.path,
        "line": where and where.line,
        "column": where and where.column,
        "instruction": where and where.instruction,
        "registers": where and dict(where.registers),
        "origin": where and where.origin and dict(zip(("file", "line"), where.origin, strict=True)),
    }
