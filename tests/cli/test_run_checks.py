"""`ptxspec run --check`: what the checks of a launch find, as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from validated import asked, call

TEXT = """.version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 a;  .reg .b32 r, i;  .shared .b32 s[4];
    ld.param.u64 a, [p];
    mov.u32 i, %tid.x;
    mad.wide.u32 a, i, 4, a;
    ld.shared.u32 r, [s+8];
    st.global.u32 [a], STORED;
    ret;
}
"""
WORDS = ("-b", "4", "-a", "u32[4]=7,7,7,7", "--check", "uninitialized")


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    """A kernel with a fault, and one without."""
    for name, stored in (("bad.ptx", "r"), ("good.ptx", "i")):
        (tmp_path / name).write_text(TEXT.replace("STORED", stored))
    return str(tmp_path / "bad.ptx"), str(tmp_path / "good.ptx")


def test_a_kernel_without_faults(paths: tuple[str, str]) -> None:
    output = call("run", paths[1], *WORDS).output
    assert "argument 0: [0 1 2 3]" in output and "the checks found nothing" in output
    answer = asked("run", paths[1], *WORDS)
    assert answer["findings"] == [] and answer["findings_omitted"] == 0
    assert "findings" not in asked("run", paths[1], *WORDS[:-2])


def test_findings_are_shown_with_the_results(paths: tuple[str, str]) -> None:
    words = ("run", paths[0], *WORDS, "--findings", "collect")
    output = call(*words, status=1).output
    assert "argument 0: [0 0 0 0]" in output and "uninitialized: a value was not initialized" in output
    assert "address 0x8 of .shared, 4 bytes" in output and "  4 times" in output
    (finding,) = asked(*words, status=1)["findings"]
    assert finding["kind"] == "uninitialized" and finding["instruction"] == "st.global.u32 [a], r;"
    assert (finding["space"], finding["address"], finding["size"], finding["count"]) == ("shared", 8, 4, 4)
    assert finding["other"]["line"] == 7 and finding["line"] == 8 and finding["page"].startswith("spec/machine/")


def test_findings_end_a_launch(paths: tuple[str, str]) -> None:
    failure = asked("run", paths[0], *WORDS, status=1)
    assert failure["kind"] == "fault" and failure["fault"]["rule"] == "uninitialized"
    assert len(failure["findings"]) == 1 and failure["findings_omitted"] == 0
    assert "argument 0" not in call("run", paths[0], *WORDS, status=1).output


def test_a_register_has_no_address(paths: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "register.ptx"
    path.write_text(TEXT.replace("ld.shared.u32 r, [s+8];", "").replace("STORED", "r"))
    (finding,) = asked("run", str(path), *WORDS, "--findings", "collect", status=1)["findings"]
    assert (finding["space"], finding["address"], finding["size"]) == (None, None, 0)


def test_other_faults_have_no_findings(paths: tuple[str, str]) -> None:
    failure = asked("run", paths[1], "-b", "5", *WORDS[2:], status=1)
    assert failure["fault"]["rule"] == "out of bounds" and "findings" not in failure
