"""What all builders of a text share: its words, and the complaints."""

from __future__ import annotations

from ptxspec.language.diagnostics import Complaints, Later, Source
from ptxspec.language.words import Lexicon, Split
from ptxspec.terms.static_rules import Facts, StaticRule


class BuiltText:
    """One text that is being built: its words, the complaints about it, and what only some versions have."""

    def __init__(self, source: Source, split: Split, lexicon: Lexicon):
        self.source, self.split, self.lexicon = source, split, lexicon
        self.words, self.classes, self.starts = split.words, split.classes, split.starts
        self.complaints = Complaints(source)
        #: how many complaints there were
        self.complaint_count = 0
        #: what only some versions have, with where it stands
        self.uses: list[tuple[str, int]] = []

    def complain(self, at: int, message: str | Later, page: str | None = None) -> None:
        """A complaint about a word. What is read goes on."""
        self.complaint_count += 1
        self.complaints.add(self.starts[at], message, page)

    def require(self, rule: StaticRule[*Facts], at: int, *facts: *Facts, **fields: object) -> bool:
        """Whether facts keep a rule of a page; complains of the word if not. See Complaints.require."""
        kept = self.complaints.require(rule, self.starts[at], *facts, **fields)
        self.complaint_count += not kept
        return kept

    def use(self, what: str, at: int) -> None:
        self.uses.append((what, self.starts[at]))
