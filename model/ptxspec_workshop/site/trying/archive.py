"""The files that the box needs, packed so that a page can load them from a server or from a disk.

Each is JavaScript that holds a compressed file as text and hands it over by calling a function: a page that was opened
from a disk may run scripts, and may fetch nothing. The text is UTF-16 with 15 bits of the file in each character, which takes a
fifth less than base64 in UTF-8. Their names have digests in them, so that browsers may keep them. Byte code is made here, by
Pyodide's Python under Node.js, so that the browser compiles nothing but WebAssembly.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import lzma
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ptxspec.base.files import write_whole
from ptxspec.base.places import DOCUMENTS
from ptxspec_workshop.site.trying import npm
from ptxspec_workshop.site.trying.pyodide import DECODER, PYODIDE

_HERE = Path(__file__).resolve().parent
_MODEL = _HERE.parents[2]
#: what of the model travels: the exact interpretation and the exact engine, and what reads texts for them
_PARTS = (
    "ptxspec/*.py",
    "ptxspec/base/*.py",
    "ptxspec/literate/*.py",
    "ptxspec/terms/*.py",
    "ptxspec/contracts/*.py",
    "ptxspec/language/**/*.py",
    "ptxspec/machine/*.py",
    "ptxspec/machine/driver/*.py",
    "ptxspec/query/*.py",
    "ptxspec/query/paths/__init__.py",
    "ptxspec/query/paths/arrivals.py",
    "ptxspec/pages/__init__.py",
    "ptxspec/pages/register.py",
    "ptxspec_workshop/__init__.py",
    "ptxspec_workshop/programs/*.py",
    "ptxspec_workshop/site/__init__.py",
    "ptxspec_workshop/site/pages.py",
    "ptxspec_workshop/site/trying/__init__.py",
    "ptxspec_workshop/site/trying/answers.py",
    "ptxspec_workshop/site/trying/fields.py",
    "ptxspec_workshop/site/trying/programs.py",
)
#: what of these stays behind: other interpretations, work of several processes, and what looks at texts for an editor
_OTHERS = (
    "base/campaign_options.py base/campaigns.py base/processes.py base/parallel.py base/progress.py base/strict.py "
    "literate/coverage.py literate/lint.py "
    "terms/native.py terms/symbolic.py terms/object_code.py terms/masked_logic.py terms/outside.py language/formatting.py "
    "language/outline.py"
).split()
#: and questions that are put to a solver, and reports of them
_LEFT_OUT = frozenset(f"ptxspec/{path}" for path in _OTHERS) | frozenset(
    f"ptxspec/query/{name}.py"
    for name in (
        "assumptions bounds causes comparisons demands enumerated equivalence explaining finding functions identities inputs "
        "invariants laws means minimal questions records refinement replaying sampling statement suspects tracing trials "
        "undefined verdicts witness"
    ).split()
)
#: libraries in pure Python that these import
LIBRARIES = ("markdown_it", "mdurl")
#: every file of an archive has this time, in seconds of Unix: what is packed depends on contents alone
_TIME = 1_700_000_000
#: bytes in which xz looks for what was there before
_DICTIONARY = 1 << 24
#: bits of a file in a character of the text that stands for it, and the character for zeros. From there on are neither quotes nor
#: line breaks nor halves of a pair
_BITS, _FIRST = 15, 0x100
#: seconds that Node.js may take
_PATIENCE = 300


def prepared(cache: Path) -> Path:
    """A folder below `cache` with the files for the site and `files.js`, which names them; from an earlier build if nothing has
    changed since. Raises npm.Unavailable."""
    packed = _tar(_travelling())
    sources = [(_HERE / name).read_bytes() for name in ("archive.py", "warm.mjs", "warm.py", "worker.js")]
    wanted = repr((PYODIDE, DECODER)).encode()
    key = hashlib.sha256(b"".join([packed, wanted, *sources])).hexdigest()[:24]
    folder = cache / f"site-{key}"
    if (folder / "files.js").is_file():
        return folder
    package, decoder = npm.fetched(cache, PYODIDE), npm.fetched(cache, DECODER)
    python = cache / f"python-{hashlib.sha256(wanted + b''.join(sources)).hexdigest()[:24]}.js"
    with tempfile.TemporaryDirectory(
        prefix="work-", dir=cache
    ) as name:  # two builds at once make the same, each for itself
        made = _made(package, decoder, packed, python, Path(name))
        for old in cache.glob("site-*"):
            if old != folder:
                shutil.rmtree(old)
        with contextlib.suppress(OSError):  # another build was first
            made.rename(folder)
    return folder


def _made(package: Path, decoder: Path, packed: bytes, python: Path, work: Path) -> Path:
    """The folder, below `work`. `python` is the file that keeps what does not depend on the definitions."""
    (work / "sources.tar").write_bytes(packed)
    _warm(package, work, library=not python.is_file())
    if not python.is_file():
        for old in python.parent.glob("python-*.js"):
            old.unlink(missing_ok=True)
        write_whole(python, b"".join(_handing(name, _xz(data)) for name, data in _python(package, work).items()))
    worker = (decoder / "xz-decompress.min.js").read_bytes() + b"\n" + (_HERE / "worker.js").read_bytes()
    definitions = (work / "definitions.tar").read_bytes()
    # the page itself unpacks the worker, which then has what unpacks the rest
    script = _handing("worker", gzip.compress(worker, 9, mtime=0)) + _handing("definitions", _xz(definitions))
    made = work / "site"
    made.mkdir()
    _write({"python": python.read_bytes(), "definitions": script}, made)
    return made


def missing(reason: str) -> str:
    """The text of `files.js` where the files could not be made."""
    return f"ptxspecTrying = {json.dumps({'missing': reason})};\n"


def _travelling() -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file: the documents, the model, and the libraries that it imports."""
    for path in sorted((DOCUMENTS / "spec").rglob("*.md")):
        yield f"ptx/spec/{path.relative_to(DOCUMENTS / 'spec')}", path.read_bytes()
    for path in sorted({p for part in _PARTS for p in _MODEL.glob(part)}):
        if str(path.relative_to(_MODEL)) in _LEFT_OUT:
            continue
        yield f"ptx/model/{path.relative_to(_MODEL)}", path.read_bytes()
    yield (
        "ptx/model/numpy/__init__.py",
        (_HERE / "arrays.py").read_bytes(),
    )  # its place taken by the little that is needed
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"there is no {name}, which reads documents")
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.py")):
            yield f"ptx/libraries/{name}/{path.relative_to(folder)}", path.read_bytes()
    # by this file the folder is a checkout, whose caches lie in its `build/`
    yield "ptx/pyproject.toml", b""


def _tar(files: Iterator[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), _TIME
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def _warm(package: Path, work: Path, library: bool) -> None:
    """Have Pyodide's Python load every page once, and keep its byte code: `definitions.tar` in `work`, and the standard library's
    `python.zip` if that is wanted."""
    node = shutil.which("node")
    if node is None:
        raise npm.Unavailable("Node.js is not installed, with which byte code for Pyodide is made")
    command = [node, str(_HERE / "warm.mjs"), str(package), str(_HERE / "warm.py"), str(work)]
    command += ["library"] if library else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise npm.Unavailable(f"Pyodide did not run under Node.js: {error}") from None
    if done.returncode:  # a fault of the site's, which ends its build
        raise RuntimeError(f"the definitions failed in Pyodide: {(done.stderr or done.stdout)[-3000:]}")


def _python(package: Path, work: Path) -> dict[str, bytes]:
    """Python: the files of Pyodide that are taken as they are, the standard library, and a list of no other packages."""
    lock = json.loads((package / "pyodide-lock.json").read_text("utf-8"))
    return {
        "loader": (package / "pyodide.mjs").read_bytes(),
        "glue": (package / "pyodide.asm.mjs").read_bytes(),
        "machine": (package / "pyodide.asm.wasm").read_bytes(),
        "lock": json.dumps({**lock, "packages": {}}).encode(),
        "library": (work / "python.zip").read_bytes(),
    }


def _handing(name: str, packed: bytes) -> bytes:
    """JavaScript that hands a compressed file over: its name, its bytes' number, and its text."""
    call = f'ptxspecTrying.take({json.dumps(name)},{len(packed)},"{text_of(packed)}");\n'
    return call.encode("utf-16-le")


def text_of(data: bytes) -> str:
    """Bytes as characters that stand for 15 bits each, the last filled up with zeros."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    filled = np.pad(bits, (0, -len(bits) % _BITS)).reshape(-1, _BITS)
    characters = filled @ (1 << np.arange(_BITS)[::-1]) + _FIRST
    return characters.astype("<u2").tobytes().decode("utf-16-le")


def _xz(data: bytes) -> bytes:
    """A file as the decoder takes it, which knows neither the longest dictionaries nor the usual check of 64 bits. What
    is packed is text and byte code, in which nothing lies at multiples of four (`pb`)."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": _DICTIONARY, "pb": 0}]
    return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)


def _write(scripts: dict[str, bytes], out: Path) -> None:
    names: list[str] = []
    sizes: list[int] = []
    for stem, script in scripts.items():
        text = codecs.BOM_UTF16_LE + script  # which a browser goes by, whatever the server says
        sizes.append(len(text))
        names.append(f"{stem}-{hashlib.sha256(text).hexdigest()[:12]}.js")
        write_whole(out / names[-1], text)
    contents = {"files": names, "megabytes": round(sum(sizes) / 1e6, 1)}
    write_whole(out / "files.js", f"ptxspecTrying = {json.dumps(contents)};\n".encode())
