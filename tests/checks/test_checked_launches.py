"""Launches that are checked: what they raise, what they return, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec

ENGINES = ("native", "exact")
HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
#: threads of a CTA write a word each, and its neighbour reads it
NEIGHBOURS = (
    HEAD
    + """.visible .entry k(.param .u64 out) {
    .shared .b32 s[64];
    .reg .b32 t, a, v;
    .reg .b64 p;
    mov.u32 t, %tid.x;
    mov.u32 a, s;
    mad.lo.u32 a, t, 4, a;
    st.shared.u32 [a], t;
    BARRIER
    xor.b32 a, a, 4;
    ld.shared.u32 v, [a];
    ld.param.u64 p, [out];
    mad.wide.u32 p, t, 4, p;
    st.global.u32 [p], v;
    ret;
}"""
)
RACY, RIGHT = NEIGHBOURS.replace("BARRIER", ""), NEIGHBOURS.replace("BARRIER", "bar.sync 0;")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_launch_with_findings_ends_in_an_error_that_has_them(engine: str) -> None:
    out = np.full(64, 7, np.uint32)
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(RACY, "k.ptx").launch("k", block=64, args=[out], check="race", engine=engine)
    error = caught.value
    assert error.rule == "race" and error.findings_omitted == 0
    assert {(f.other.line, f.where.line) for f in error.findings} <= {(11, 14), (14, 11)} and error.findings
    assert all(f.kind == "race" and f.space == "shared" and f.size == 4 for f in error.findings)
    assert "bar.sync" in str(error) and "spec/memory-model/races.md:" in str(error)
    assert (out == 7).all()  # as after any other error


@pytest.mark.parametrize("engine", ENGINES)
def test_findings_are_returned_where_they_are_collected(engine: str) -> None:
    out = np.full(64, 7, np.uint32)
    outcome = ptxspec.load(RACY).launch("k", block=64, args=[out], check="race", findings="collect", engine=engine)
    assert outcome.findings and outcome.findings_omitted == 0 and (out != 7).any()
    assert sum(f.count for f in outcome.findings) >= 32
    assert all(str(f).startswith("race: ") for f in outcome.findings)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["round-robin", "warps", "random:3"])
def test_what_is_right_is_silent(engine: str, schedule: str) -> None:
    out = np.zeros(64, np.uint32)
    module = ptxspec.load(RIGHT)
    for _ in range(2):  # the second launch finds nothing that the first one left
        outcome = module.launch("k", block=64, args=[out], check="race", engine=engine, schedule=schedule)
        assert outcome.findings == () and (out == np.arange(64) ^ 1).all()


def test_engines_report_the_same() -> None:
    def findings(engine: str) -> list[tuple[object, ...]]:
        outcome = ptxspec.load(RACY).launch(
            "k", grid=3, block=64, args=[np.zeros(64, np.uint32)], check="race", findings="collect", engine=engine,
            schedule="round-robin",
        )  # fmt: skip
        return [(f.where, f.other, f.space, f.address, f.size, f.note, f.count) for f in outcome.findings]

    assert findings("native") == findings("exact")


def test_a_prepared_launch_is_checked_each_time() -> None:
    prepared = ptxspec.load(RACY).prepared("k", block=64, check="race", findings="collect")
    for _ in range(3):
        assert prepared.launch([np.zeros(64, np.uint32)]).findings


def test_others_may_observe_a_launch_that_is_checked() -> None:
    trace = ptxspec.Trace()
    outcome = ptxspec.load(RACY).launch(
        "k", block=2, args=[np.zeros(2, np.uint32)], check="race", findings="collect", observers=[trace], counts=True
    )
    assert outcome.findings and outcome.counts is not None
    assert {event.kind for event in trace.events} >= {"EXECUTE", "READ", "WRITE", "EXIT"}
    assert any(event.space == "param" for event in trace.events)


def test_another_error_has_what_was_found_before() -> None:
    text = RACY.replace("st.global.u32 [p], v;", "st.global.u32 [p+4096], v;")
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(text).launch("k", block=64, args=[np.zeros(64, np.uint32)], check="race", schedule="round-robin")
    assert caught.value.rule == "out of bounds"


def test_of_many_kinds_of_findings_a_hundred_are_kept() -> None:
    reads = "\n".join(f"ld.shared.u32 v, [s+{4 * k}];" for k in range(130))
    writes = "\n".join(f"st.shared.u32 [s+{4 * k}], t;" for k in range(130))
    text = f"{HEAD}.visible .entry k() {{ .shared .b32 s[130]; .reg .b32 t, v; mov.u32 t, %tid.x;\n{writes}\n{reads}\nret; }}"
    outcome = ptxspec.load(text).launch("k", block=2, check="race", findings="collect", schedule="round-robin")
    assert len(outcome.findings) == 100 and outcome.findings_omitted > 0


def test_what_is_no_check_is_refused() -> None:
    module = ptxspec.load(RIGHT)
    with pytest.raises(ValueError, match="check is 'race', 'uninitialized', 'leak' or 'all', not 'races'"):
        module.launch("k", check="races", args=[np.zeros(1, np.uint32)])
    with pytest.raises(ValueError, match="findings is 'raise' or 'collect', not 'keep'"):
        module.launch("k", check="race", findings="keep", args=[np.zeros(1, np.uint32)])


def test_every_access_of_the_check_itself_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its compiled code to its arrays: as that of kernels is, with PTXSPEC_CHECKED."""
    monkeypatch.setenv("PTXSPEC_CHECKED", "1")
    for text in (
        RACY,
        RIGHT,
        RIGHT.replace("bar.sync 0", "bar.sync 1, 64"),
        RIGHT.replace("bar.sync 0", "bar.warp.sync -1"),
    ):
        outcome = ptxspec.load(text).launch(
            "k", grid=3, block=64, args=[np.zeros(64, np.uint32)], check="race", findings="collect"
        )
        assert bool(outcome.findings) == (text == RACY)
