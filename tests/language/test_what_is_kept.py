"""What is kept between runs, the index of opcodes and the parser, is what the pages come to, or it is made again."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptxspec.base import storage
from ptxspec.base.places import DOCUMENTS
from ptxspec.language import syntax as parsers
from ptxspec.language import tables
from ptxspec.language.forms import Registry, registry
from ptxspec.terms.registries import RULES

ROOT = Path(__file__).resolve().parents[2]
KERNEL = (
    ".version 9.0 .target sm_90 .address_size 64 .visible .entry k() { .reg .u32 %r<3>; add.u32 %r1, %r1, %r2; ret; }"
)
#: the text above in Python: what is printed are the pages of instructions that were loaded for it
LOAD = f"""
import sys, ptxspec
ptxspec.load({KERNEL!r})
print(*sorted(m.removeprefix("ptxspec.spec.instructions.") for m in sys.modules if m.startswith("ptxspec.spec.instructions.")))
"""


def test_the_kept_index_gives_what_a_fresh_one_gives() -> None:
    """Of every opcode: the same syntax lines, of the same definitions, in the same order."""
    fresh, kept = Registry(), registry()
    assert list(fresh.opcodes) == list(kept.opcodes) and len(fresh.opcodes) > 100
    for name, opcode in fresh.opcodes.items():
        assert kept.opcodes[name].lines == opcode.lines, name
        assert [str(f) for f in kept.opcodes[name].forms] == [str(f) for f in opcode.forms]


def test_the_kept_parser_is_the_one_that_the_pages_come_to() -> None:
    parser, fresh = parsers.syntax(), parsers.prepared()
    made = parsers.parser_of(fresh)
    assert parser.parser.source == made.parser.source and len(made.parser.source) > 10_000
    assert parser.parser.pages == made.parser.pages == {r.name: str(DOCUMENTS / r.path) for r in fresh.rules}
    assert list(parser.lexicon.rules.values()) == [r._replace(path=str(DOCUMENTS / r.path)) for r in fresh.words]
    assert (parser.begins, parser.literals) == (made.begins, made.literals)
    assert tables.read(json.loads(json.dumps(tables.plain(fresh)))) == fresh


def test_few_pages_are_loaded_for_a_small_module() -> None:
    run = subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert {"integer.add", "control.ret"} <= loaded and len(loaded) < 15


def test_functions_of_the_parser_are_written_when_they_are_needed() -> None:
    code = f"{LOAD}from ptxspec.language.syntax import syntax; p = syntax().parser; print(len(p._codes), len(p.pages))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    written, rules = map(int, run.stdout.splitlines()[-1].split())
    assert 10 < written < rules / 2


def test_a_rule_is_told_though_its_page_is_not_loaded_yet() -> None:
    _ = registry().pages
    code = (
        "import sys; from ptxspec.machine.errors import LaunchError; from ptxspec.terms.registries import RULES\n"
        "for name in sys.argv[1:]: print(name not in RULES, 'the rule: ' in str(LaunchError(name, 'x')))"
    )
    last_first = sorted(RULES, key=lambda name: "brkpt" not in RULES[name].path)
    run = subprocess.run([sys.executable, "-c", code, *last_first], check=True, capture_output=True, text=True)
    told = [line.split() for line in run.stdout.splitlines()]
    assert told[0][0] == "True" and len(told) > 10 and all(stated == "True" for _, stated in told)


# the files --------------------------------------------------------------------------------------------------------------

KEY, OTHER = b"k" * 32, b"o" * 32
Kept = Callable[[bytes, bytes], tuple[bytes, bool]]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """remembered(…) in a folder of the test's own: what it gives for a key and a value, and whether that was made."""
    monkeypatch.setattr(storage, "kept", lambda name: tmp_path / "kept" / name)

    def keep(key: bytes, value: bytes) -> tuple[bytes, bool]:
        made: list[bool] = []

        def make() -> str:
            made.append(True)
            return value.decode()

        return storage.remembered("thing", key, make, str.encode), bool(made)

    return keep


def the_file(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "kept").iterdir()
    return path


def test_what_was_made_for_a_key_is_kept_for_it(keep: Kept, tmp_path: Path) -> None:
    assert keep(KEY, b"one") == (b"one", True)
    assert keep(KEY, b"two") == (b"one", False)
    assert keep(OTHER, b"two") == (b"two", True)
    assert keep(OTHER, b"three") == (b"two", False)
    assert not stat.S_IMODE(the_file(tmp_path).stat().st_mode) & 0o111


def test_a_damaged_file_is_made_again(keep: Kept, tmp_path: Path) -> None:
    """Each byte changed, and every shorter file: none of them is believed."""
    value = b"what was made"
    keep(KEY, value)
    path = the_file(tmp_path)
    whole = path.read_bytes()
    damaged = [whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :] for i in range(len(whole))]
    damaged += [whole[:i] for i in range(len(whole))] + [whole + b"x", whole + whole, b"\0" * len(whole)]
    for data in damaged:
        path.write_bytes(data)
        assert keep(KEY, value) == (value, True)
        assert path.read_bytes() == whole
    assert keep(KEY, b"other") == (value, False)


def test_where_nothing_can_be_written_it_is_made_each_time(tmp_path: Path, keep: Kept) -> None:
    (tmp_path / "kept").write_text("a file in the place of the folder")
    assert [keep(KEY, b"one"), keep(KEY, b"two")] == [(b"one", True), (b"two", True)]


def test_the_file_of_another_user_is_not_believed(keep: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keep(KEY, b"one")
    true = os.fstat

    def foreign(number: int) -> SimpleNamespace:
        return SimpleNamespace(st_uid=os.geteuid() + 4321, st_size=true(number).st_size, st_mode=true(number).st_mode)

    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "fstat", foreign)
        assert keep(KEY, b"two") == (b"two", True)
    assert keep(KEY, b"three") == (b"two", False)


@pytest.mark.parametrize("kind", ["link", "link of the folder", "FIFO", "folder", "for all", "endless"])
def test_what_is_no_file_of_ones_own_is_not_believed(kind: str, keep: Kept, tmp_path: Path) -> None:
    """Nor waited for, nor followed when it is replaced."""
    keep(KEY, b"one")
    path, other = the_file(tmp_path), tmp_path / "other"
    whole = path.read_bytes()
    if kind == "link of the folder":  # a link that somebody else has made
        path.parent.rename(other)
        path.parent.symlink_to(other)
        os.lchown(path.parent, 4321, 4321) if os.geteuid() == 0 else path.parent.parent.chmod(0o777)
    elif kind == "for all":
        path.chmod(0o666)
    elif kind == "endless":
        os.truncate(path, 1 << 40)
    else:
        path.unlink()
        if kind == "link":
            other.write_bytes(whole)
            path.symlink_to(other)
        elif kind == "FIFO":
            os.mkfifo(path)
        else:
            path.mkdir()
    assert keep(KEY, b"two") == (b"two", True)
    if kind == "link":
        assert other.read_bytes() == whole and not path.is_symlink()
    path.parent.parent.chmod(0o700)


@pytest.mark.slow
def test_the_parser_is_kept_as_data(checkout: Path) -> None:
    """No file that is kept has Python's code, and one that somebody has made up is none."""
    told(checkout, LOAD)
    for path in (checkout / "build").iterdir():
        json.loads(path.read_bytes()[-path.stat().st_size + len(b"ptxspec 3\n") + 64 :])
    plain = tables.plain(parsers.prepared())
    for damage in (
        lambda v: v["rules"][0].__setitem__(0, "x(): pass\n    __import__('os').abort()\n    def y"),
        lambda v: v["rules"][0][2].__setitem__(0, "Lambda"),
        lambda v: v.pop("words"),
        lambda v: v.update(outside=[1]),
        lambda v: v["prefixes"].popitem(),
        lambda v: v["places"].pop(),
    ):
        value = json.loads(json.dumps(plain))
        damage(value)
        with pytest.raises((ValueError, TypeError)):
            tables.read(value)


#: how a program is run as a user of whom nothing is known: as one, where this is root, else by what Python is told of users
NOBODY = "setpriv --reuid=12345 --regid=12345 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search".split()
AS_NOBODY = NOBODY if os.name == "posix" and os.geteuid() == 0 and shutil.which("setpriv") else []


@pytest.mark.parametrize("environment", [{}, {"XDG_CACHE_HOME": ".cache"}, {"HOME": "."}])
@pytest.mark.slow
def test_without_a_home_folder_nothing_is_kept_and_that_is_said_once(
    checkout: Path, environment: dict[str, str]
) -> None:
    """As a container's user has none. What the working directory has in its place is neither read nor written."""
    (checkout / "pyproject.toml").unlink()  # so that this is no checkout
    own = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")} | environment
    own |= {"PYTHONPATH": str(checkout / "model"), "PYTHONDONTWRITEBYTECODE": "1"}
    here = checkout / "here"
    here.mkdir()
    unknown = "import pwd\ndef none(*_): raise KeyError\npwd.getpwuid = none\n"
    code = f"import sys\n{unknown}sys.argv[0] = 'ptxspec'\nfrom ptxspec.cli import main\nmain()"
    words = ["eval", "add.u32 d, a, b;", "a=1", "b=2"]
    run = subprocess.run(
        [*AS_NOBODY, sys.executable, "-c", code, *words], capture_output=True, text=True, env=own, cwd=here
    )
    assert run.returncode == 0 and "d = 3" in run.stdout, run.stderr
    assert run.stderr.startswith("ptxspec: what is computed is not kept between runs: ")
    assert run.stderr.count("not kept") == 1 and "Warning" not in run.stderr
    assert not list(here.iterdir())


def test_machine_code_is_kept_where_nobody_else_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sticky bit is not enough."""
    own = tmp_path / "own"
    own.mkdir()
    path = own / "code" / "x.o"
    for mode in (0o1777, 0o777):
        own.chmod(mode)
        monkeypatch.setattr(storage, "_told", False)
        with pytest.warns(storage.NotKept, match="other users can write to it"):
            storage.keep_code(path, b"code")
        assert not path.exists()
        with pytest.raises(OSError, match="other users can write to it"):
            storage.own_code(path)


@pytest.mark.slow
def test_many_at_once(keep: Kept) -> None:
    """Whoever reads while others write gets what belongs to the key."""
    keys = [bytes([i]) * 32 for i in range(4)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: (i, keep(keys[i % 4], keys[i % 4] * 2000)[0]), range(400)))
    assert all(value == keys[i % 4] * 2000 for i, value in found)


# a checkout of the test's own ------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the pages and of the model."""
    for folder in ("model", "spec"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def told(checkout: Path, code: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """What Python says in the checkout, where it keeps its byte code too."""
    own = {"PYTHONPATH": str(checkout / "model"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **own, **more}
    environment.pop("PYTHONPYCACHEPREFIX", None)
    words = [sys.executable, "-c", code]
    return subprocess.run(words, check=check, capture_output=True, text=True, env=environment, cwd=checkout)


@pytest.mark.slow
def test_an_edited_page_is_noticed(checkout: Path) -> None:
    """Even one whose size and time are what they were. A page that is wrong is told of, again and again."""
    code = "import ptxspec; print([f.mnemonic for f in ptxspec.forms('bfx')])"
    path = checkout / "spec/instructions/integer/bfe.md"
    told(checkout, LOAD)
    kept = {p.name: p.read_bytes() for p in (checkout / "build").iterdir()}
    assert {name.split("-")[0] for name in kept} == {"digest", "forms", "parser"}
    told(checkout, LOAD)
    assert {p.name: p.read_bytes() for p in (checkout / "build").iterdir()} == kept
    assert "KeyError" in told(checkout, code, check=False).stderr
    before, text = path.stat(), path.read_text()
    path.write_text(text.replace("bfe.type  d", "bfx.type  d"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.rmtree(path.parent / "__pycache__")  # Python itself goes by size and time
    assert path.stat().st_size == before.st_size
    assert told(checkout, code).stdout == "['bfx.u32', 'bfx.u64', 'bfx.s32', 'bfx.s64']\n"
    path.write_text(text.replace("bfe.type  d", "bfe{.odd}.type  d"))
    for _ in range(2):
        assert "bfe drops the modifier .odd" in told(checkout, LOAD, check=False).stderr
    path.write_text(text)
    assert told(checkout, code.replace("bfx", "bfe")).stdout == "['bfe.u32', 'bfe.u64', 'bfe.s32', 'bfe.s64']\n"


@pytest.mark.slow
def test_an_edited_grammar_is_noticed(checkout: Path) -> None:
    code = "import ptxspec; ptxspec.load('.version 9.0 .target sm_90 .address_size 64 .edition 3')"
    assert "PtxError" in told(checkout, code, check=False).stderr
    path = checkout / "spec/syntax/modules.md"
    text = path.read_text()
    assert '".address_size"' in text
    path.write_text(text.replace('".address_size"', '".edition"'))
    found = told(checkout, "import ptxspec; ptxspec.load('.version 9.0 .target sm_90 .edition 64')", check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_an_edited_reader_of_pages_is_noticed(checkout: Path) -> None:
    told(checkout, LOAD)
    before = {p.name: p.read_bytes() for p in (checkout / "build").iterdir()}
    path = checkout / "model/ptxspec/language/parser_generator.py"
    path.write_text(path.read_text().replace("MOST_NESTED = 150", "MOST_NESTED = 149"))
    told(checkout, LOAD)
    after = {p.name: p.read_bytes() for p in (checkout / "build").iterdir()}
    assert before.keys() == after.keys() and all(before[name] != after[name] for name in before)


@pytest.mark.skipif(os.name != "posix" or not os.access("/proc/self", os.R_OK), reason="permissions as POSIX has them")
@pytest.mark.slow
def test_pages_that_cannot_be_cached_beside_themselves_are_cached_among_the_users_files(
    checkout: Path, private_path: Path
) -> None:
    """As in an installation that is only read: a file stands where each folder for byte code would be."""
    (checkout / "pyproject.toml").unlink()  # so that this is no checkout
    for folder, _, names in os.walk(checkout / "spec"):
        if any(name.endswith(".md") for name in names):
            (Path(folder) / "__pycache__").write_text("in the way")
    home = private_path / "home"
    code = (
        "from ptxspec.literate.finder import DocumentLoader as L; made = []; own = L.source_to_code\n"
        "L.source_to_code = lambda self, data, path, **k: made.append(path) or own(self, data, path, **k)\n"
        "import ptxspec; n = len(ptxspec.forms('bfe')); print(n, len(made))"
    )
    first, second = (told(checkout, code, XDG_CACHE_HOME=str(home)).stdout.split() for _ in range(2))
    assert first[0] == second[0] == "4" and int(first[1]) > 100 and second[1] == "0"
    kept = sorted(p.name for p in (home / "ptxspec").iterdir())
    assert [name.split("-")[0] for name in kept] == ["digest", "forms", "pages"]
