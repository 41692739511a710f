"""`ptxspec run --seeds`: whether results depend on what PTX leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest
from validated import asked, call

HEAD = ".version 8.0 .target sm_80 .address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 p) {
    .reg .b64 a;  .reg .b32 r, i;
    ld.param.u64 a, [p];
    mov.u32 i, %tid.x;
    mad.wide.u32 a, i, 4, a;
    BODY
    ret;
}
"""
WORDS = ("-b", "4", "-a", "u32[4]=7,7,7,7")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return tmp_path / "k.ptx"


def write(kernel: Path, body: str) -> str:
    kernel.write_text(HEAD + KERNEL.replace("BODY", body))
    return str(kernel)


def test_results_that_depend_on_nothing_open(kernel: Path) -> None:
    path = write(kernel, "st.global.u32 [a], i;")
    assert "the results are the same under 3 seeds" in call("run", path, *WORDS, "--seeds", "3").output
    assert asked("run", path, *WORDS, "--seeds", "3")["seeds"] == {"count": 3, "dependent": []}
    assert "seeds" not in asked("run", path, *WORDS)


def test_a_register_that_nothing_wrote_is_named(kernel: Path) -> None:
    """Thread 2 alone stores it; what is shown and saved is the result without a seed."""
    path = write(kernel, ".reg .pred q; setp.eq.u32 q, i, 2; @q st.global.u32 [a], r;")
    output = call("run", path, *WORDS, "--seeds", "2", status=1).output
    assert "argument 0: [7 7 0 7]" in output
    assert "argument 0 depends on what is open, in 1 element: [2] is 0, and " in output and "under --seed 0" in output
    (one,) = asked("run", path, *WORDS, "--seeds", "2", status=1)["seeds"]["dependent"]
    assert (one["argument"], one["elements"], one["first"], one["value"], one["seed"]) == (0, 1, [2], 0, 0)
    again = asked("run", path, *WORDS, "--seed", "0")
    assert again["changed"]["0"] == [7, 7, one["other"], 7]


def test_a_launch_that_fails_under_a_seed_names_it(kernel: Path) -> None:
    path = write(kernel, ".reg .pred q; setp.ne.u32 q, r, 0; @q st.global.u32 [a+1], r;")
    failure = asked("run", path, *WORDS, "--seeds", "2", status=1)
    assert failure["fault"]["rule"] == "misaligned" and failure["error"].endswith("  under --seed 0")


def test_a_result_that_the_profile_does_not_choose_says_what_to_do(kernel: Path) -> None:
    """The native engine needs all choices before it compiles, the exact one only those that are met."""
    path = write(kernel, "cvta.to.global.u64 a, a; st.global.u32 [a], i;")
    words = ("run", path, *WORDS, "--profile", "portable")
    output = call(*words, status=1).output
    assert "the profile hopper chooses" in output and "a seed" in output
    for more in (("--engine", "exact"), ("--seed", "1")):
        assert "argument 0: [0 1 2 3]" in call(*words, *more).output
