"""What is large is imported only when a question needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TEXT = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { .reg .f32 x; add.f32 x, 1.0, 2.0; ret; }"
LARGE = ("numpy", "llvmlite", "sympy", "mpmath", "z3", "sphinx", "rich", "click", "docutils")
#: what a program does -> what of the above it may import; the last is what shows that the test can fail
STEPS = {
    "import ptxspec": set(),
    "dir(ptxspec); ptxspec.PtxError; ptxspec.Engine": set(),
    "ptxspec.forms('bfe')": set(),
    "ptxspec.evaluate('bfe.s32 d, a, b, c;', a=0x80, b=4, c=8)": set(),
    "ptxspec.evaluate('fma.rn.f32 d, a, b, c;', a=1.5, b=2.5, c=-3.0)": set(),
    f"module = ptxspec.load('{TEXT}')": set(),
    "module.launch('k', engine='exact')": {"numpy"},
    "module.launch('k')": {"numpy", "llvmlite"},
    "from ptxspec.query.solvers import kept": {"numpy", "llvmlite"},
    "with kept.kept_at(None): ptxspec.prove('neg.s32 d, a;', 'not.b32 d, a;')": {"numpy", "llvmlite", "z3"},
}


def test_what_is_large_is_imported_when_it_is_needed() -> None:
    lines = ["import sys", f"def loaded(): print(*[n for n in {LARGE} if n in sys.modules])"]
    for step in STEPS:
        lines += [step, "loaded()"]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for (step, wanted), found in zip(STEPS.items(), run.stdout.splitlines(), strict=True):
        assert set(found.split()) <= wanted, f"after {step}: {found}"
    assert "z3" in found.split()


@pytest.mark.parametrize(
    "words",
    [["check", "-"], ["format", "-"], ["run", "-"], ["eval", "add.u32 d, a, b;", "a=1", "b=2"], ["forms", "bfe"], ["--help"]],
    ids=lambda w: w[0],
)  # fmt: skip
def test_commands_that_prove_nothing_load_no_solver(words: list[str]) -> None:
    code = (
        "import sys\nfrom ptxspec.cli import main\n"
        "try: main(sys.argv[1:])\nfinally: print('loaded:', *[n for n in ('sympy', 'mpmath', 'z3', 'sphinx') if n in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, input=TEXT)
    assert run.returncode == 0, run.stderr
    assert run.stderr.splitlines()[-1] == "loaded:"


def test_the_language_server_starts_with_little() -> None:
    """Nothing that computes, proves or builds the site."""
    code = f"import sys, ptxspec.editor.server; print(*[n for n in {LARGE} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.split() == [], run.stderr


def test_the_package_is_the_command() -> None:
    words = [sys.executable, "-m", "ptxspec", "eval", "add.u32 d, a, b;", "a=1", "b=2", "--json"]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode == 0 and json.loads(run.stdout), run.stderr
    run = subprocess.run([sys.executable, "-m", "ptxspec", "nothing"], capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.startswith("Usage: ")
