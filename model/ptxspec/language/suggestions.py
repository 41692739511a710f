"""What a misspelled word was meant to be: the words that the pages, the grammar or the module have and that are most like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from ptxspec.language.named import numbered
from ptxspec.language.scopes import Names

#: how like one another two words are at least, of 1; and how much less like than the first those after it may be
_ALIKE, _FURTHER = 0.6, 0.05
#: longer words, and more candidates, are not looked at
_LONGEST, _MOST_CANDIDATES = 40, 1000


def near(word: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """Those of the candidates that a word may have been meant to be, the most alike first; none for a long word."""
    if not 1 < len(word) <= _LONGEST:
        return []
    written = word.lower()
    fit = (c for c in islice(candidates, _MOST_CANDIDATES) if c != word and abs(len(c) - len(word)) <= 3)
    import difflib  # which a text without errors does not need

    matcher = difflib.SequenceMatcher(b=written, autojunk=False)
    ranked: list[tuple[float, int, str]] = []
    least = _ALIKE
    for bound, candidate in _by_letters(written, {c: c.lower() for c in fit}):
        if bound < least:
            break  # so are all that follow
        matcher.set_seq1(candidate.lower())
        if (ratio := matcher.ratio()) >= _ALIKE:
            ranked.append((-ratio, -_common(candidate, word), candidate))
            least = max(least, ratio - _FURTHER)
    ranked.sort()
    best = [f for f in ranked if f[0] <= ranked[0][0] + _FURTHER and f[1] <= ranked[0][1] // 2]
    return [candidate for _, _, candidate in best[:most]]


def alike(word: str, candidates: Iterable[str], most: int, least: float) -> list[str]:
    """The most alike of the candidates, `most` at most, of those that are at least so alike, of 1: difflib.get_close_matches."""
    import difflib

    matcher = difflib.SequenceMatcher(b=word)
    ranked: list[tuple[float, str]] = []
    for bound, candidate in _by_letters(word, {c: c for c in candidates}):
        if bound < least or (len(ranked) == most and bound < ranked[-1][0]):
            break  # so are all that follow
        matcher.set_seq1(candidate)
        if (ratio := matcher.ratio()) >= least:
            ranked = sorted([*ranked, (ratio, candidate)], reverse=True)[:most]
    return [candidate for _, candidate in ranked]


def _by_letters(word: str, candidates: dict[str, str]) -> list[tuple[float, str]]:
    """How alike to a word each candidate is at most, by the letters that they share in any order, which takes little time to say;
    the largest first. `candidates` says how each is read."""
    letters = Counter(word).items()
    bounds = (
        (2.0 * sum(min(n, read.count(letter)) for letter, n in letters) / (len(read) + len(word)), candidate)
        for candidate, read in candidates.items()
    )
    return sorted(bounds, reverse=True)


def _common(a: str, b: str) -> int:
    """How many characters two words begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`; did you mean a or b?`, or nothing.

    >>> did_you_mean("ad", ["add", "mul", "mad"])
    '; did you mean add?'
    """
    return meant(near(word, candidates))


def meant(words: list[str]) -> str:
    """`; did you mean a or b?`, or nothing."""
    return f"; did you mean {' or '.join(words)}?" if words else ""


def undeclared(name: str, scope: Names, others: Iterable[str]) -> str:
    """What to add to the complaint that a name is not declared: the numbers that `name<N>` gives, or names that are like it.
    `others` are those that no scope declares."""
    prefix, number = numbered(name)
    around: Names | None = scope
    while around is not None and number is not None:
        count = around.ranges.get(prefix, (0,))[0] or around.vector_ranges.get(prefix, (0,))[0]
        series = around.places.ranges.get((prefix, ""))
        count = count or (series.count if series is not None else 0)
        if count:
            return f"; {prefix}<{count}> ends with {prefix}{count - 1}"
        around = around.outer
    return did_you_mean(name, _names(scope, name, others))


def _names(scope: Names, wanted: str, others: Iterable[str]) -> Iterator[str]:
    """The names that may stand where one is wanted: those of ranges with its own number."""
    number = numbered(wanted)[1]
    around: Names | None = scope
    while around is not None:
        ranges = {**{k: v[0] for k, v in around.ranges.items()}, **{k: v[0] for k, v in around.vector_ranges.items()}}
        ranges |= {k[0]: v.count for k, v in around.places.ranges.items()}
        if number is not None:
            yield from (f"{k}{number}" for k, count in ranges.items() if number < count)
        elif ranges:
            yield from (f"{k}0" for k in ranges)
        close = [
            n for some in (around.registers, around.places, around.vectors, around.labels, around.tables) for n in some
        ]
        yield from (n for n in close if abs(len(n) - len(wanted)) <= 3 and n[:1] == wanted[:1])
        yield from (n for n in close if abs(len(n) - len(wanted)) <= 3 and n[:1] != wanted[:1])
        around = around.outer
    yield from others
