"""The identities that mention a page's instructions, or that a page states, with their verdicts.

Verdicts come from the store of `ptxspec.query.identities`, or from `ptxspec.evidence.precomputed`. Any other is asked of the
solver, for as long as a build may take for it; after that the page says that it was not run.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ptxspec.evidence import precomputed
from ptxspec.language.forms import registry
from ptxspec.query import identities as query
from ptxspec.query.identities import Identity
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import code, gap, opcodes, table

UNCHECKED = "not run in this build"
#: a table of more rows than this is opened on demand
MANY = 12
#: rows of the table of an instruction, the others are links: `mov` is in hundreds of identities that are about something else
ROWS = 24


class _OutOfTime(Exception):
    """The build has asked the solver for long enough."""


class VerdictSource:
    """Gives verdicts, from the store or from the solver, for at most `seconds` of the solver's time."""

    def __init__(self, store: Path, seconds: float):
        self.store, self.left = store, seconds
        self._known: dict[Identity, dict[str, Any]] = {}
        #: the days of the verdicts that were reached before, and not here
        self.dates: set[str] = set()

    def verdict(self, identity: Identity) -> dict[str, Any]:
        """The verdict as a dictionary; its status is UNCHECKED if there was no time for one."""
        if identity not in self._known:
            judge = self

            class Limited(Identity):
                """The same claim, whose check respects what is left of the time."""

                def check(self, timeout: float = 120.0) -> Any:
                    if judge.left <= 0:
                        raise _OutOfTime
                    return super().check(min(timeout, judge.left))

            began = time.monotonic()
            known = query.kept(identity, self.store) or precomputed.verdict(identity)
            try:
                self._known[identity] = known or query.verdict(Limited(*identity), self.store)
            except _OutOfTime:
                self._known[identity] = {"status": UNCHECKED}
            if "computed" in self._known[identity]:
                self.dates.add(self._known[identity]["computed"])
            self.left -= time.monotonic() - began
        return self._known[identity]

    def status(self, identity: Identity) -> str:
        """The verdict's word."""
        return str(self.verdict(identity)["status"])


def identities() -> list[Identity]:
    """Every identity that a page states."""
    return list(query.load_all())


def mentions(identity: Identity, module: str) -> bool:
    """Whether an identity uses a form of the page: an opcode may have forms on several pages."""
    if not opcodes(module) & set(identity.opcodes):
        return False
    known = registry().opcodes
    used = re.findall(r"(?:^|[;\s])([a-z]\w*(?:\.[\w:]+)*)", f"{identity.left}\n{identity.right}")
    candidates = [form for m in used if m.split(".")[0] in known for form in known[m.split(".")[0]].find(m)]
    return any(form.definition.module == module for form in candidates) if candidates else True


def of_page(module: str) -> list[Identity]:
    """The identities that a page of an instruction is used in, or that a page of proofs states."""
    if module.startswith("ptxspec.proofs."):
        return [i for i in identities() if pages.module_of(pages.docname_of(i.path)) == module]
    return [i for i in identities() if mentions(i, module)]


def _word(verdict: dict[str, Any], expected: str) -> str:
    """The verdict's word, and whether it is the one that the page expects."""
    status = verdict["status"]
    held = status == expected or (status == "exhausted" and expected == "proved")  # every input was run
    if held:
        return f"{status}, as stated"
    return f"{status if status == UNCHECKED else gap(status)}; stated as {expected}"


def verdict_text(verdict: dict[str, Any], expected: str) -> str:
    """The verdict in words, with the inputs and choices of a counterexample."""
    text = _word(verdict, expected)
    counterexample = verdict.get("counterexample") or {}
    if counterexample.get("inputs"):
        text += (
            f" <small>at {', '.join(f'{code(n)} = {_shown(v)}' for n, v in counterexample['inputs'].items())}</small>"
        )
    if counterexample.get("choices"):
        text += f" <small>if {', '.join(map(_choice, counterexample['choices']))}</small>"
    return text


def _choice(choice: dict[str, Any]) -> str:
    """An open result as a machine chooses it for some operands."""
    operands = ", ".join(f"{x:#x}" for x in choice["operands"])
    return code(f"{choice['entry']}({operands})") + " = " + code(f"{choice['bits']:#x}")


def _shown(value: Any) -> str:
    """An input of a counterexample: readings of a number, or a truth value."""
    if isinstance(value, dict):
        value = value.get("hex", next(iter(value.values()), ""))
    return code(str(value).lower() if isinstance(value, bool) else str(value))


def markdown(module: str, judge: VerdictSource, docname: str) -> str:
    """A table of the identities, "" for none. Where they are many the table is behind a line that
    counts the verdicts."""
    identities = of_page(module)
    shown, linked = identities, identities[:0]
    if not module.startswith("ptxspec.proofs."):
        identities.sort(key=lambda identity: len(identity.opcodes))  # first those that are about little else
        shown, linked = identities[:ROWS], identities[ROWS:]
    text = rows(shown, judge, docname) + _links(linked, judge)
    if len(identities) <= MANY:
        return text
    verdicts = Counter(judge.status(identity) for identity in identities)
    counts = ", ".join(f"{n} {status}" for status, n in verdicts.most_common())
    return f"<details class='lines'><summary>{len(identities)} identities: {counts}</summary>\n\n{text}\n\n</details>\n"


def _links(identities: Sequence[Identity], judge: VerdictSource) -> str:
    """What a table leaves out: the verdict and the title, which leads to the identity."""
    if not identities:
        return ""
    items = [f"- {_word(judge.verdict(i), i.expected)}: {_title(i)}" for i in identities]
    return "\n".join(["", f"And {len(identities)} more:", "", *items, ""])


def _title(identity: Identity) -> str:
    return f"{{ptx:identity}}`{identity.title.replace('|', chr(92) + '|')}`"


def rows(identities: Iterable[Identity], judge: VerdictSource, docname: str) -> str:
    """The table, as the document `docname` has it; "" for none."""
    body = []
    for identity in identities:
        place = _title(identity)
        where = code(identity.assume) if identity.assume else "always"
        if identity.profile != "portable":
            where += f" <small>profile {identity.profile}</small>"
        where += "".join(f" <small>{code(name)} points to {length} bytes</small>" for name, length in identity.buffers)
        where += " <small>a whole warp</small>" if identity.warp else ""
        where += " <small>the other side refines the one</small>" if identity.relation == "refines" else ""
        verdict = verdict_text(judge.verdict(identity), identity.expected)
        body.append([verdict, place, _lines(identity.left), _lines(identity.right), where])
    head = ["Verdict", "Identity", "One side", "Other side", "Where"]
    return table(head, body, "Identities, with the solver's verdict") if body else ""


def _lines(text: str) -> str:
    """PTX in a table's cell: an instruction a line."""
    return "<br>".join(code(part.strip() + ";") for part in text.split(";") if part.strip())
