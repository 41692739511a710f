"""Where things are on the site: the anchor of each form on its page, and the address of a page. Whoever links to a form takes it
from here."""

from __future__ import annotations

import functools
import re

from ptxspec.language.forms import Form
from ptxspec.literate.notation import SyntaxLine
from ptxspec.terms.types import Type

#: what stands in an anchor for a sign of an operand, so that forms that differ in one have different anchors
_SIGNS = {"[": "at-", "{": "of-", "(": "list-", "|": "and-", "-": "minus-", "+": "plus-"}
_SIGN = re.compile(r"[\[{(|+-]")


def form_anchor(form: Form) -> str:
    """The anchor of a form on its page: its mnemonic, then its operands, so that no other line of the page has a say in it.

    >>> form_anchor(ptxspec.forms("bfe")[2])
    'bfe.s32-d-a-b-c'
    """
    operands = operands_anchor(form.syntax)
    return f"{spelled(form)}-{operands}" if operands else spelled(form)


def spelled(form: Form) -> str:
    """A form's mnemonic as its syntax line has it: without hints, its words in the order of the line."""
    words = {s.name: form.modifiers.get(s.name) for s in form.syntax.slots if not s.hint}
    return form.syntax.spelled({k: v.name if isinstance(v, Type) else v for k, v in words.items() if v is not None})


@functools.cache
def operands_anchor(line: SyntaxLine) -> str:
    """What follows a form's mnemonic in its anchor: the operands of its line of syntax as words, `d-at-a` for `d, [a]`."""
    _, _, text = line.text.partition(" ")
    text = re.sub(
        r"\{\{,[^}]*\}\}|\{\.[^}]*\}|\{[!-]\}|\{\+[^}]*\}|\[\|", " ", text
    )  # hints, selectors, signs, offsets: no form of their own
    return "-".join(re.findall(r"\w+", _SIGN.sub(lambda sign: f" {_SIGNS[sign[0]]}", text)))


def slug(name: str) -> str:
    """A name as a part of an anchor.

    >>> slug("a sum is the union, plus")
    'a-sum-is-the-union-plus'
    """
    return "-".join(re.findall(r"[\w.:]+", name.lower())).replace(".-", "-").strip(".")


def identity_anchor(title: str) -> str:
    """The anchor of an identity on the page that states it."""
    return f"identity-{slug(title)}"


def rule_anchor(name: str) -> str:
    """The anchor of a rule that running programs keep, on its page."""
    return f"rule-{slug(name)}"


def register_anchor(name: str) -> str:
    """The anchor of a special register on its page.

    >>> register_anchor("%tid")
    'sreg-tid'
    """
    return f"sreg-{slug(name.removeprefix('%'))}"


def word_anchor(kind: str, name: str) -> str:
    """The anchor of a word in the prose of a page: a directive, a type, a state space.

    >>> word_anchor("type", ".u32")
    'type-u32'
    """
    return f"{kind}-{name.removeprefix('.')}"


def entry_anchor(number: str) -> str:
    """The anchor of an entry of the register of ambiguities, whatever its names.

    >>> entry_anchor("AMB-021")
    'amb-021'
    """
    return number.lower()


def page_address(page: str) -> str:
    """The address, below the site's, of a page that messages name; a line that follows it is left out.

    >>> page_address("spec/instructions/integer/bfe.md:46")
    'spec/instructions/integer/bfe.html'
    """
    return page.partition(":")[0].removesuffix(".md") + ".html"


def form_address(form: Form) -> str:
    """The address of a form below the site's.

    >>> form_address(ptxspec.forms("bfe")[2])
    'spec/instructions/integer/bfe.html#bfe.s32-d-a-b-c'
    """
    return f"{page_address(form.page)}#{form_anchor(form)}"
