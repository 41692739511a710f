"""`ptxspec run --schedule weakest:SEED`: reads that return any value that the memory model permits."""

from __future__ import annotations

from pathlib import Path

from validated import asked, call

TEXT = """.version 8.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 box) {
    .reg .b64 a;  .reg .b32 r, t;  .reg .pred p;
    ld.param.u64 a, [box];
    mov.u32 t, %ctaid.x;
    setp.ne.u32 p, t, 0;
    @p bra READ;
    st.global.u32 [a], 42;
    st.relaxed.gpu.global.u32 [a+4], 1;
    ret;
READ:
    ld.relaxed.gpu.global.u32 r, [a+4];
    setp.ne.u32 p, r, 1;
    @p bra READ;
    ld.global.u32 r, [a];
    st.global.u32 [a+8], r;
    ret;
}
"""
WORDS = ("-g", "2", "-a", "u32[3]=0,0,0")


def test_a_kernel_that_is_right_by_luck(tmp_path: Path) -> None:
    path = tmp_path / "pass.ptx"
    path.write_text(TEXT)
    outputs = set()
    for seed in range(12):
        words = ("run", str(path), *WORDS, "--engine", "exact", "--schedule", f"weakest:{seed}")
        output = call(*words).output
        outputs.add("argument 0: [42  1 42]" in output)
        assert ("argument 0: [42  1  0]" in output) != ("argument 0: [42  1 42]" in output)
        assert asked(*words)["schedule"]
    assert outputs == {True, False}


def test_what_is_not_done_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pass.ptx"
    path.write_text(TEXT)
    assert "the engine is 'exact'" in call("run", str(path), *WORDS, "--schedule", "weakest:1", status=2).output
    words = ("run", str(path), *WORDS, "--engine", "exact", "--schedule", "weakest", "--check", "race")
    assert "nothing is checked" in call(*words, status=2).output
