"""In Pyodide: load every page, so that all byte code and the tables that are kept between runs are there, and pack them.

`warm.mjs` runs this as a program. The standard library is packed as byte code, without the modules that nothing here uses.
"""

from __future__ import annotations

import importlib.util
import io
import json
import marshal
import os
import sys
import tarfile
import zipfile
from collections.abc import Iterator

# what would talk to a network, to a terminal or to other processes, and all but a few encodings
LEFT_OUT = (
    "_pyrepl email ensurepip ftplib.py html http idlelib imaplib.py mailbox.py multiprocessing optparse.py pdb.py bdb.py "
    "cmd.py doctest.py pydoc.py pydoc_data smtplib.py poplib.py unittest wsgiref xml xmlrpc zipapp.py ctypes sqlite3 curses "
    "dbm venv turtle.py tkinter profile.py cProfile.py pstats.py profiling _pyio.py pickletools.py configparser.py uuid.py "
    "shelve.py netrc.py nntplib.py socketserver.py webbrowser.py mimetypes.py zoneinfo tomllib plistlib.py trace.py "
    "modulefinder.py logging/handlers.py logging/config.py calendar.py cgi.py cgitb.py telnetlib.py _pydecimal.py "
    "_pydatetime.py _strptime.py argparse.py statistics.py sched.py timeit.py tabnanny.py pyclbr.py rlcompleter.py pty.py "
    "tty.py fileinput.py filecmp.py csv.py wave.py colorsys.py getpass.py gettext.py getopt.py symtable.py pickle.py "
    "_compat_pickle.py platform.py asyncio/windows_events.py asyncio/windows_utils.py asyncio/proactor_events.py "
    "compileall.py pyodide/console.py"
).split()
ENCODINGS = [f"encodings/{name}.py" for name in ("__init__", "aliases", "ascii", "latin_1", "utf_8", "cp437", "idna")]
#: programs that load what launches use: memory alone, and threads that wait for one another
_HEAD = ".version 9.0 .target sm_90 .address_size 64 .global .u32 out; .visible .entry k() "
_STORE = "{ st.global.u32 [out], 3; ret; }"
_VOTE = (
    ".reqntid 2 { .reg .pred p; .reg .b32 d; setp.eq.u32 p, 1, 1; bar.sync 0; "
    "vote.sync.ballot.b32 d, p, 3; st.global.u32 [out], d; ret; }"
)
#: the time of every file, in seconds of Unix, which byte code has of its source
TIME = 1_700_000_000


def load() -> None:
    """Load every page, and evaluate an instruction under each profile."""
    from ptxspec.language.forms import registry
    from ptxspec.terms.profiles import names
    from ptxspec_workshop.site.trying import answers

    _ = registry().pages
    question = {"text": "add.u32 d, a, b;", "operands": {"a": "0x1", "b": "2"}, "profile": "hopper"}
    for profile in names():
        answered = json.loads(answers.reply(json.dumps({**question, "profile": profile})))
        if not answered["results"] or answered["results"][0]["readings"][0][1] != "3":
            raise RuntimeError(f"the sum of 1 and 2 is {answered}")
    for text in ("ad.u32 d, a, b;", "rcp.approx.f32 d, a;", "div.rn.f64 d, a, b;"):
        answers.reply(json.dumps({**question, "text": text}))
    for program in (_STORE, _VOTE):
        answered = json.loads(answers.reply(json.dumps({"program": _HEAD + program, "values": {}})))
        if answered["error"] or answered["memory"][0]["rows"][0]["after"] != "3":
            raise RuntimeError(f"a program that writes 3 leaves {answered}")


def files(folder: str) -> Iterator[str]:
    """The files below a folder, in the order of their names."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(place, name) for name in sorted(names))


def pack_definitions(target: str) -> None:
    """Everything but the libraries, which read documents: the documents' byte code is there."""
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in files("/ptx"):
            if not path.startswith("/ptx/libraries/"):
                with open(path, "rb") as file:
                    data = file.read()
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mtime = len(data), TIME
                archive.addfile(entry, io.BytesIO(data))


def is_left_out(member: str) -> bool:
    """Whether a file of the standard library stays behind."""
    if member.startswith("encodings/"):
        return member not in ENCODINGS
    return any(member == part or member.startswith(part + "/") for part in LEFT_OUT)


def pack_library(source: str, target: str) -> None:
    """The standard library, with byte code that is not compared with a source."""
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # PEP 552: a digest that is not looked at
    with zipfile.ZipFile(source) as library, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
        for name in sorted(library.namelist()):
            if name.endswith("/") or is_left_out(name):
                continue
            data = library.read(name)
            if name.endswith(".py"):
                code = compile(data, f"/lib/python/{name}", "exec", dont_inherit=True, optimize=2)
                name, data = name + "c", head + marshal.dumps(code)
            made.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)


if __name__ == "__main__":
    sys.dont_write_bytecode = False
    with tarfile.open("/sources.tar") as sources:
        sources.extractall("/", filter="data")
    sys.path[:0] = ["/ptx/model", "/ptx/libraries"]
    load()
    pack_definitions("/definitions.tar")
    if os.path.exists("/stdlib.zip"):
        pack_library("/stdlib.zip", "/python.zip")
