"""In Pyodide: load every page, so that all byte code and the tables that are kept between runs are there, and pack them.

The standard library is packed as byte code, without the modules that nothing here uses.
"""

import importlib._bootstrap_external as bootstrap
import io
import json
import os
import sys
import tarfile
import zipfile

# what would talk to a network, to a terminal or to other processes, and encodings of East Asia
LEFT_OUT = (
    "_pyrepl email ensurepip ftplib.py http idlelib imaplib.py mailbox.py multiprocessing optparse.py pdb.py bdb.py cmd.py "
    "doctest.py pydoc.py pydoc_data smtplib.py poplib.py unittest wsgiref xml xmlrpc zipapp.py ctypes sqlite3 curses dbm venv "
    "turtle.py tkinter profile.py cProfile.py pstats.py profiling _pyio.py pickletools.py configparser.py uuid.py shelve.py "
    "netrc.py nntplib.py socketserver.py webbrowser.py mimetypes.py zoneinfo tomllib plistlib.py trace.py modulefinder.py "
    "logging/handlers.py logging/config.py calendar.py cgi.py cgitb.py telnetlib.py _pydecimal.py _pydatetime.py _strptime.py "
    "argparse.py statistics.py sched.py timeit.py tabnanny.py pyclbr.py rlcompleter.py pty.py tty.py fileinput.py filecmp.py "
    "csv.py wave.py colorsys.py getpass.py gettext.py getopt.py symtable.py pickle.py _compat_pickle.py platform.py"
).split()
ENCODINGS = [f"encodings/{name}.py" for name in ("__init__", "aliases", "ascii", "latin_1", "utf_8", "cp437", "idna")]
TIME = 1_700_000_000

sys.dont_write_bytecode = False
with tarfile.open("/sources.tar") as archive:
    archive.extractall("/", filter="data")
sys.path[:0] = ["/ptx/model", "/ptx/libraries"]

from ptxspec.site.trying import answers  # noqa: E402
from ptxspec.language.forms import registry  # noqa: E402
from ptxspec.terms.profiles import names  # noqa: E402

_ = registry().pages
asked = {"text": "add.u32 d, a, b;", "operands": {"a": "0x1", "b": "2"}, "profile": "hopper"}
for profile in names():
    found = json.loads(answers.reply(json.dumps({**asked, "profile": profile})))
    assert found["results"][0]["readings"][0][1] == "3", found
for text in ("ad.u32 d, a, b;", "rcp.approx.f32 d, a;", "div.rn.f64 d, a, b;"):
    answers.reply(json.dumps({**asked, "text": text}))


def files(folder):
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(place, name) for name in sorted(names))


with tarfile.open("/definitions.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
    for path in files("/ptx"):
        if path.startswith("/ptx/libraries/"):  # they read documents, of which the byte code is here
            continue
        entry = tarfile.TarInfo(path.lstrip("/"))
        with open(path, "rb") as file:
            data = file.read()
        entry.size, entry.mtime = len(data), TIME
        archive.addfile(entry, io.BytesIO(data))


def packed(name, data):
    """(name, content) as the library has it: byte code that is not compared with a source."""
    if not name.endswith(".py"):
        return name, data
    code = compile(data, f"/lib/python/{name}", "exec", dont_inherit=True, optimize=2)
    return name + "c", bytes(bootstrap._code_to_hash_pyc(code, bytes(8), False))


with zipfile.ZipFile("/stdlib.zip") as library, zipfile.ZipFile("/python.zip", "w", zipfile.ZIP_STORED) as made:
    for member in sorted(library.namelist()):
        left_out = any(member == part or member.startswith(part + "/") for part in LEFT_OUT)
        left_out = left_out or (member.startswith("encodings/") and member not in ENCODINGS)
        if not (member.endswith("/") or left_out):
            name, data = packed(member, library.read(member))
            made.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
