"""The guides' Python runs, page by page, from top to bottom."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest

from ptxspec.literate.documents import parse

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "interop"))
from triton_compile import kernel_of  # noqa: E402

FOLDERS = (ROOT / "docs", ROOT / "docs" / "how-to", ROOT / "docs" / "explanation")
PAGES = [path for folder in FOLDERS for path in sorted(folder.glob("*.md"))]
#: what a guide needs that has its name
TOOLS = ("numba", "tinygrad")


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_guide_runs(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for tool in TOOLS:
        if tool in path.stem and importlib.util.find_spec(tool) is None:
            reason = f"NO {tool.upper()}: that the guide to its kernels runs was NOT tested (make install brings it, on Linux on x86_64)"
            warnings.warn(reason, stacklevel=1)
            pytest.skip(reason)
    monkeypatch.setenv("CACHELEVEL", "0")  # nothing of tinygrad's is kept on disk
    monkeypatch.chdir(ROOT)
    if "triton" in path.stem:  # Triton is in no extra: what it makes of the page's program is kept
        monkeypatch.chdir(tmp_path)
        kernel_of("softmax").keep("softmax.json")
    text = path.read_text()
    if path.stem == "start":  # its kernel is a file beside the program
        monkeypatch.chdir(tmp_path)
        (kernel,) = re.findall(r":caption: square.ptx\n(.*?)\n```", text, re.S)
        Path("square.ptx").write_text(kernel)
    scope: dict[str, object] = {}
    fences = parse(text, path).of("python")
    for fence in fences:
        exec(compile("\n" * (fence.line - 1) + fence.text, str(path), "exec"), scope)
    if path.stem in (
        "start",
        "tutorial",
        "settle-a-disagreement",
        "how-documents-become-modules",
        "run-a-kernel",
        "find-a-fault",
        "check-results",
        "check-an-implementation",
        "look-up-an-image",
    ):
        assert fences and "ptxspec" in scope
