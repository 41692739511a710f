"""What the front page says of planted mistakes: the score of these pages, or that it is of others."""

from __future__ import annotations

from typing import Any

from ptxspec_workshop.mutation import score
from ptxspec_workshop.site import mutation_section


def row(status: str, by: str, place: str = "spec/instructions/integer/min.md:4:1: twin: x -> y") -> dict[str, Any]:
    return {"status": status, "by": by, "place": place}


ROWS = {
    "a": row("killed", "identity"),
    "b": row("killed", "recorded answer"),
    "c": row("killed", "construction", "spec/arithmetic/video.md:9:1: mask: x -> y"),
    "d": row("survivor", ""),
    "e": row("equivalent", "proof"),
}


def shown(**facts: Any) -> str:
    return mutation_section.markdown(
        score.Kept({"listed": 5, "date": "2026-01-02", "digest": score.digest(), **facts}, ROWS)
    )


def test_a_score_of_these_pages() -> None:
    text = shown()
    assert "**75.0 %** of 4 planted mistakes" in text and "25.0 % by an identity alone" in text
    assert "2026-01-02." in text and "other pages" not in text and "not judged" not in text
    assert "1 are not noticed" in text
    lines = [line.replace(" ", "") for line in text.splitlines()]
    assert any(line.startswith("|spec/arithmetic|1|0|0|1|0|0|") for line in lines), lines
    assert any(line.startswith("|spec/instructions/integer|3|1|1|0|") for line in lines), lines


def test_a_score_of_other_pages_says_so() -> None:
    assert mutation_section.STALE in shown(digest="of other pages")


def test_mutants_that_were_not_judged_are_counted() -> None:
    assert "4 mistakes are not judged yet" in shown(listed=9)


def test_no_score() -> None:
    assert mutation_section.NOT_RUN in mutation_section.markdown(None)


def test_what_is_kept_can_be_shown() -> None:
    kept = score.read()
    assert kept is not None and kept.unjudged >= 0
    assert f"{kept.score.percent:.1f} %" in mutation_section.markdown(kept)
