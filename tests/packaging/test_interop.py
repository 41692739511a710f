"""The kernels of Numba, Triton and tinygrad run from the wheel with the extra `interop`, in an environment that was empty, by the
commands of their guides."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from guides import follow, run, steps

from ptxspec.literate.documents import parse

ROOT = Path(__file__).resolve().parents[2]
GUIDES = {
    name: ROOT / "docs" / "how-to" / f"run-{name}.md" for name in ("a-numba-kernel", "tinygrad", "a-triton-kernel")
}
#: what a user has whose program is run by tinygrad's adapter
PROGRAM = "from tinygrad import Tensor\nassert (Tensor([1, 2]) + 1).tolist() == [2, 3]\n"


def test_a_guide_is_read_whole() -> None:
    """Its Python is all there, and the file that it has one write; every command but those typed into Python."""
    for name, page in GUIDES.items():
        found = steps(page)
        fences = parse(page.read_text(), page)
        assert [s.text for s in found if s.kind == "python"] == [fence.text for fence in fences.of("python")]
        consoles = "".join(fence.text for fence in fences.of("console"))
        assert [s.text for s in found if s.kind == "console"] == re.findall(r"^\$ (.*)$", consoles, re.M)
        assert found[0].text.startswith("pip install 'ptxspec[interop]'")
        assert [s.name for s in found if s.kind == "file"] == ["softmax.py"] * (name == "a-triton-kernel")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a shell in an empty environment, whose pip finds the wheel of this checkout beside what it finds anyway."""
    place = tmp_path_factory.mktemp("interop")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place / "wheels")]
    subprocess.run([*words, str(ROOT)], check=True)
    venv.create(place / "environment", with_pip=True)
    kept = {name: value for name, value in os.environ.items() if re.match("PIP_|SSL_|HTTPS?_|NO_PROXY", name)}
    return {
        **kept,
        "HOME": str(place / "home"),
        "PATH": f"{place}/environment/bin:/usr/bin:/bin",
        "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {place}/wheels".strip(),
        "CACHELEVEL": "0",
    }


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="NO NUMBA and NO TRITON for this machine: they are for Linux")
def test_the_guides_and_all_kernels(environment: dict[str, str], tmp_path: Path) -> None:
    begun = time.monotonic()
    for name, page in GUIDES.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "train.py").write_text(PROGRAM)
        follow(page, folder, environment)
    guided = time.monotonic()
    home = Path(environment["PATH"].split(":")[0]).parent
    (page,) = home.glob("lib/python*/site-packages/ptxspec/documents/spec/gaps.md")
    assert page.read_text() == (ROOT / "spec/gaps.md").read_text()  # it was this wheel
    shutil.copytree(ROOT / "tests" / "interop", tmp_path / "interop", ignore=shutil.ignore_patterns("__pycache__"))
    run(["python", "-m", "pip", "install", "--quiet", "pytest"], tmp_path, environment)
    kernels = ["-k", "test_a_kernel or test_an_operation", "-p", "no:cacheprovider", "-W", "ignore", "interop"]
    said = run(["python", "-m", "pytest", "-q", *kernels], tmp_path, environment)
    assert int(re.search(r"(\d+) passed", said)[1]) >= 24 + 30 + 2 * 30 and "skipped" not in said, said  # type: ignore[index]
    size = sum(path.lstat().st_size for path in home.rglob("*") if path.is_file()) >> 20
    print(
        f"guides {guided - begun:.0f} s, all kernels {time.monotonic() - guided:.0f} s, environment of {size} MiB: {said[-200:]}"
    )
