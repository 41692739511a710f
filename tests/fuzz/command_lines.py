"""Command lines that nobody means: every command, with arguments that are right, nearly right, or hostile.

python tests/fuzz/command_lines.py eval 17          the words that the seed 17 makes for `ptxspec eval`, and what becomes of them
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(HERE.parents[1] / "model")]

from click.testing import CliRunner, Result  # noqa: E402
from validated import COMMANDS, STATUSES, validated  # noqa: E402

from ptxspec.cli import arguments, main, shared  # noqa: E402
from ptxspec.evidence import ledger, vector_contents, vector_files, vector_results  # noqa: E402
from ptxspec.language.forms import registry  # noqa: E402
from ptxspec.terms.types import TYPES  # noqa: E402
from ptxspec_workshop.ledger import computing  # noqa: E402
from ptxspec_workshop.record import check_recorded  # noqa: E402
from ptxspec_workshop.site.export import isa  # noqa: E402

#: what is no argument of anything; no word may hold a NUL, which no system passes on
HOSTILE = [
    *("", " ", "-", "--", "---", "-x", "-1", "--frob", "--json=1", "=", "==", "=1", "a=", "a", "@", "@@", "\n", "\t", "'", '"', "\\", ";"),
    *("\x1b[2J\x07", "\u202eevil", "\x7f\x9b", "é", "漢字", "∞", "٣", "\udcff\udc80", "🂡", "%s%n%x", "{}", "{0.__class__}", "[red]x[/]"),
    *("$(id)", "`id`", "../../x", "/", ".", "..", "~", "*", "nowhere.ptx", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem"),
    *("9" * 30, "9" * 5000, "-" + "9" * 30, "1e999", "1e-999", "1e" + "9" * 30, "nan", "inf", "-inf", "0x", "0xg", "0b2", "0f12", "1_0"),
    *("0x" + "f" * 40, "010", "1.5.5", "1e", "None", "True", "null", "NaN", "x" * 5000, "(" * 3000, "not " * 2000, "a+" * 3000 + "a"),
    *("#", "//", "/*", "*/", "{", "}", "[", "]", "<<<", "__import__('os')", "a" * 300, "0", "-0", "0.0", "1,2,3", ",", ",,"),
]  # fmt: skip
NUMBERS = [
    *("0", "1", "-1", "2", "255", "256", "65536", "4294967295", "4294967296", "-2147483648", "1.5", "-0.0", "inf", "nan", "-inf", "1e30", "1e-45"),
    *("0x0", "0xffffffff", "0x7fc00000", "0b101", "0f3f800000", "0d3ff0000000000000", "true", "false", "0x3c003c00", "3.4e38", "1e400"),
]  # fmt: skip
FRAGMENTS = [
    *("add.u32 d, a, b;", "add.f32 d, a, b", "@p mov.u32 d, a; @!p mov.u32 d, b;", "add.cc.u32 d, a, b; addc.u32 e, a, b;", "bra x;"),
    *("setp.lt.f32 p|q, a, b;", "ld.global.u32 d, [a];", "mov.b64 d, {a, b};", "cvt.sat.s8.s32 a, c;", "bar.sync 0", "mov.u32 d, %tid.x;"),
    *("rem.u32 d, a, b;", "rcp.approx.f32 d, a;", "x: ret;", ".reg .u32 r;", "{ add.u32 d, a, b; }", "mov.u32 d, %clock;", "vadd.u32.u32.u32 d, a, b;"),
]  # fmt: skip
ASSUMPTIONS = [
    "a != 0",
    "a < b",
    "signed(a) >= 0",
    "nan(a)",
    "a ==",
    "1 << -1",
    "f(a)",
    "a if b else a",
    "[a]",
    "lambda: a",
]
KERNEL = """.version 8.0 .target sm_80 .address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 ran[8] = {114, 97, 110, 27, 91, 50, 10, 0};
.visible .entry k(.param .u64 array, .param .u32 number) { .reg .b64 %a, %n; .reg .b32 %x, %r; .reg .pred %p;
  ld.param.u64 %a, [array]; ld.param.u32 %x, [number]; st.global.u32 [%a], %x; mov.u64 %n, ran; cvta.global.u64 %n, %n;
  setp.eq.u32 %p, %x, 7; @%p call (%r), vprintf, (%n, 0);
again: setp.eq.u32 %p, %x, 9; @%p bra again; ret; }
"""
#: the files in the folder in which a command is called
FILES: dict[str, bytes] = {
    "k.ptx": KERNEL.encode(),
    "two.ptx": b".version 8.0 .target sm_80 .entry a() { ret; } .entry b(.param .f32 x) { trap; }",
    "wrong.ptx": KERNEL.replace("st.global", "st.frobal").encode(),
    "control.ptx": KERNEL.replace("ran", "r\x1bn").encode() + b"// \x1b[2J\x07 \xff\n",
    "bytes.ptx": bytes(range(256)),
    "empty.ptx": b"",
    "t.litmus": b"PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nst.weak x, 1 | ld.weak r0, x ;\nexists (P1:r0 == 1)",
    "odd.litmus": b"PTX \x1b[2J\xff\n{ x = 0; }\nP0@cta 0,gpu 0 ;\nst.\x1b x, [1] ;\nexists (x == 1)",
    "\udcff\x1b[2J.ptx": KERNEL.encode(),
    "not.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
}
#: of a campaign that `fuzz --engine` resumes: with outcomes that are none
HEAD = json.dumps({"campaign": {"engine": "native", "limit": 20.0}}, sort_keys=True).encode() + b"\n"
FILES |= {
    "deep.j": HEAD + b"[" * 100_000 + b"\n",
    "short.j": HEAD + b'["0", "done"]\n',
    "odd.j": HEAD + b'["0", "done", {"executed": null}, ""]\n',
    "right.j": HEAD + b'["0", "late", null, "late"]\n',
    "c.json": b'{"format": 3}',
    "deep.json": b"[" * 100_000,
}
NAMES = [*FILES, "x.npy", "v", "sub", "new", "sub/new.npy", "y.npy", "link.npy"]


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """The folder as a case finds it, as the working directory; and limits so low that no case takes long."""
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    np.save(folder / "x.npy", np.arange(4, dtype=np.uint32))
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link.j").symlink_to("right.j")
    (folder / "link.npy").symlink_to("sub/elsewhere.npy")
    (folder / "v").mkdir()
    (folder / "v" / "vectors.json").write_text(json.dumps({"format": 1, "opcodes": ["brev"]}))
    (folder / "v" / "brev.jsonl").write_text('{"form": "brev.b32 d, a;", "results": null}\n')
    (folder / "v" / "mine.txt").write_text("precious")
    rows: list[dict[str, Any]] = [
        {"mnemonic": "x", "form": "x;", "opcode": "x", "page": "p", "ptxas": False, "interpretations": None, "identities": 0,
         "gpu": None, "approximate": True, "compared": None}
    ]  # fmt: skip
    before = os.getcwd()
    recorded = check_recorded.check_recorded
    changes: list[tuple[Any, str, Any]] = [
        (shared, "LARGEST_SOURCE", 1 << 20),
        (arguments, "MOST_BYTES", 1 << 20),
        (vector_contents, "opcodes", lambda: ["brev", "popc"]),
        *((place, "on_all_cores", map) for place in (vector_files, vector_results, check_recorded)),
        (check_recorded, "check_recorded", lambda asked: recorded(asked or ("popc",))),
        (isa, "opcodes", lambda: {"brev": True, "popc": True, "tcgen05": False}),
        (ledger, "rows", lambda: []),
        (computing, "update", lambda progress=None: rows),
    ]
    old = [(place, name, getattr(place, name)) for place, name, _ in changes]
    os.chdir(folder)
    try:
        for place, name, value in changes:
            setattr(place, name, value)
        yield
    finally:
        os.chdir(before)
        for place, name, value in old:
            setattr(place, name, value)


class Maker:
    """Makes the words of a case."""

    def __init__(self, command: str, seed: int):
        self.command, self.random = command, random.Random(f"{command} {seed}")

    def words(self) -> list[str]:
        make = getattr(self, f"_{self.command.replace(' ', '_') or 'nothing'}")
        words = make()
        for _ in range(self.random.choice([0, 0, 0, 0, 0, 1, 1, 3])):
            self._disturb(words)
        return [word.replace("\0", "0") for word in words]

    def one(self, words: Any) -> Any:
        return self.random.choice(list(words))

    def maybe(self, words: list[str], chance: float = 0.4) -> list[str]:
        return words if self.random.random() < chance else []

    def _disturb(self, words: list[str]) -> None:
        at = self.random.randrange(len(words) + 1)
        kind = self.random.randrange(5)
        if kind == 0 or not words:
            words.insert(at, self.one(HOSTILE))
        elif kind == 1:
            words.pop(at % len(words))
        elif kind == 2:
            words[at % len(words)] = self.one(HOSTILE)
        elif kind == 3:
            words.insert(at, self.one(words))
        else:
            words[at % len(words)] = self.damaged(words[at % len(words)])

    def damaged(self, word: str) -> str:
        """The word with a few characters changed, lost, doubled, or put in from elsewhere."""
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(word) + 1)
            kind = self.random.randrange(4)
            new = (
                self.one(HOSTILE)[:20]
                if kind == 0
                else ""
                if kind == 1
                else self.one("0123456789abfxXeEuUdD.,;=+-_[]{}()%@!|~ \x1b\u202e'\"\\<>&^")
            )
            word = word[:at] + new + word[at + (kind in (1, 2)) :]
        return word

    def fragment(self) -> str:
        kind = self.random.randrange(4)
        if kind < 2:
            return str(self.one(FRAGMENTS))
        opcode = self.one(sorted(registry().opcodes))
        text = str(self.one(registry().opcodes[opcode].forms))
        return text if self.random.random() < 0.7 else self.damaged(text)

    def number(self) -> str:
        return str(self.one(NUMBERS)) if self.random.random() < 0.8 else str(self.one(HOSTILE))

    def file(self) -> str:
        return str(self.one(NAMES if self.random.random() < 0.3 else [n for n in NAMES if n.endswith(".ptx")]))

    def _check(self) -> list[str]:
        return [self.file() for _ in range(self.random.choice([1, 1, 2, 3]))]

    def _format(self) -> list[str]:
        return [*self._check(), *self.maybe(["-i"]), *self.maybe(["--check"], 0.2)]

    def _argument(self) -> str:
        kind = self.one([*sorted(TYPES), "u32", "u32", "f32", "s32", "b64"])
        shape = (
            ""
            if self.random.random() < 0.4
            else f"[{self.one(['1', '4', '2,2', '0', '-1', '', '9' * 20, '1,' * 40 + '1', '٣', '99999', '4 '])}]"
        )
        value = self.one(
            ["zeros", "arange", "random", "1,2,3,4", self.number(), self.number(), ",".join(map(str, range(300)))]
        )
        return self.one([f"{kind}{shape}={value}", f"{kind}{shape}={value}", f"@{self.file()}", "u32[4]=zeros"])

    def _run(self) -> list[str]:
        file = self.one(["k.ptx", "k.ptx", "k.ptx", "\udcff\x1b[2J.ptx", self.file()])
        array = self.one(
            ["u32[4]=zeros", "u32[4]=zeros", "@x.npy", "s32[2,2]=arange", "f32[5]=random", self._argument()]
        )
        number = self.one(["u32=0", "u32=7", "u32=9", "s32=-5", "b32=0xffffffff", self._argument()])
        extents = ["1", "1", "2", "3,2", "1,1,1", "32", "2147483647", "65535,65535,65535", "1025", "0", self.number()]
        saved = f"{self.one(['0', '0', '0', '1', '-1', '7', ''])}={self.one(['y.npy', 'y.npy', 'link.npy', self.file(), self.one(HOSTILE)])}"
        return [
            file,
            *self.maybe(["-a", array], 0.95),
            *self.maybe(["-a", number], 0.95),
            *self.maybe(["-a", self._argument()], 0.1),
            *self.maybe(["-g", self.one(extents)], 0.3),
            *self.maybe(["-b", self.one(extents)], 0.3),
            *self.maybe(["-c", self.one(extents)], 0.1),
            *self.maybe(["-k", self.one(["k", "k", "a", self.one(HOSTILE)])], 0.2),
            *self.maybe(["-s", saved], 0.3),
            *self.maybe(["--profile", self.one(["hopper", "portable", self.one(HOSTILE)])], 0.1),
            *self.maybe(["--dynamic-shared", self.one(["0", "16", "99999999", self.number()])], 0.1),
            *self.maybe(["--nonportable-cluster"], 0.1),
            *self.maybe(["--time-limit", self.one(["1", "0.5", "inf", self.number()])], 0.1),
            *self.maybe(["--memory-limit", self.one(["1", "1000000", self.number()])], 0.1),
            *self.maybe(["--check", self.one(["uninitialized", "race", "all", self.one(HOSTILE)])], 0.2),
            *self.maybe(["--findings", self.one(["collect", "raise"])], 0.2),
            "--engine",
            self.one(["exact"] * 9 + ["native"]),
            "--step-limit",
            self.one(["0", "1", "1000", "3000"]),
        ]

    def _eval(self) -> list[str]:
        text = self.fragment()
        names = ["a", "b", "c", "d", "p", "q", "i", "m", "%r1", "CC.CF", "%tid.x", "e"]
        own = [n for n in ("a", "b", "c", "p", "m") if re.search(rf"[ @!,{{]{n}[ ,;}}|]", text)]
        if self.random.random() < 0.3:
            own = self.random.sample(names, self.random.randint(0, 4))
        likely = self.one([["0x0", "0x1"], ["0", "1"], NUMBERS, NUMBERS, [*NUMBERS, *HOSTILE]])
        return [
            text,
            *(f"{n}={self.one(likely)}" for n in own),
            *self.maybe(["--profile", self.one(["hopper", "portable"])], 0.2),
        ]

    def _prove(self) -> list[str]:
        left = self.fragment()
        right = self.one([left, self.damaged(left), self.fragment()])
        if self.random.random() < 0.3:
            left, right = (
                "add.u32 d, a, b;",
                self.one(["sub.u32 d, a, b;", "add.u32 d, b, a;", "or.b32 d, a, b", "mov.u32 d, a;"]),
            )
        assume = self.maybe(["-a", self.one([*ASSUMPTIONS * 4, *HOSTILE])], 0.3)
        if self.random.random() < 0.1:
            return ["--check", self.one(["c.json", "deep.json", "k.ptx", "v/vectors.json", "sub", self.one(HOSTILE)])]
        option = self.one(["--smtlib", "--ptx", "--certificate"])
        written = self.maybe([option, self.one(["new/x", "pipe", "sub", "link.npy/x", "/dev/full"])], 0.1)
        return [
            left,
            right,
            *assume,
            *written,
            *self.maybe(["--contract", self.one(["all", "any", "x"])], 0.1),
            *self.maybe([self.one(["--alone", "--context=any", "--context=alone", "--context=x"])], 0.2),
            *self.maybe(["--invariant", self.one(ASSUMPTIONS)], 0.1),
            "--timeout",
            self.one(["0.1", "0.2", "0.2", "0.2", self.one(["nan", "-1", "0", "1e-9"])]),
        ]

    def _find(self) -> list[str]:
        text = self.one([self.fragment(), "add.u32 d, a, b;", "setp.lt.f32 p, a, b;"])
        where = self.one(["d == 7", "p", "d < a and a != 3", "real(d) == 0.5", *ASSUMPTIONS, *HOSTILE])
        count = self.maybe(["--count", self.one(["1", "2", self.number()])], 0.3)
        return [text, "--where", where, *count, "--timeout", self.one(["0.1", "0.2", "nan", "0"])]

    def _litmus(self) -> list[str]:
        files = ["t.litmus"] if self.random.random() < 0.5 else [self.one(["odd.litmus", "sub", *NAMES, *HOSTILE])]
        files += self.maybe([self.one(["t.litmus", *NAMES])], 0.2)
        options = self.maybe(["--model", self.one(["9.1", "6.0", "7.5", *HOSTILE])], 0.3)
        options += self.maybe(["--loops", self.one(["0", "3", self.number()])], 0.2)
        options += self.maybe(["--by", self.one(["solver", "enumeration", *HOSTILE])], 0.3)
        options += self.maybe(["--svg", self.one(NAMES)], 0.2)
        return [*files, *options, *self.maybe(["--timeout", self.one(["1", "nan", "0"])], 0.2)]

    def _explain(self) -> list[str]:
        return [*self._eval(), *self.maybe(["--depth", self.one(["1", "2", self.number()])], 0.2)]

    def _synthesize(self) -> list[str]:
        text = self.one([self.fragment(), "add.u32 d, a, a;", "shl.b32 x, a, 8; shr.u32 d, x, 8;"])
        opcodes = [
            w for _ in range(self.random.randrange(3)) for w in ("--with", self.one(["shl.b32", "and.b32", *HOSTILE]))
        ]
        if self.random.random() < 0.3:
            return ["add.u32 d, a, a;", "--with", "shl.b32", "--timeout", "9"]
        return [text, *opcodes, "--timeout", self.one(["0.1", "0.2", "nan", "-1"])]

    def _forms(self) -> list[str]:
        opcode = self.one(sorted(registry().opcodes))
        form = self.one(registry().opcodes[opcode].forms).mnemonic
        return [self.one([form, form[: self.random.randint(0, len(form))], self.damaged(form), self.one(HOSTILE)])]

    def _page(self) -> list[str]:
        name = self.one(["bfe", "memory", "machine/memory", "spec/machine/memory.md", "AMB-031", "ambiguities"])
        line = self.one(["", ":1", ":0", f":{self.random.randint(1, 4000)}", ":99999999999999999999", ":x"])
        return [self.one([f"{name}{line}", self.damaged(name), "../README", self.one(HOSTILE)])]

    def _export(self) -> list[str]:
        opcodes = [
            w
            for _ in range(self.random.randint(1, 2))  # the whole takes half a minute
            for w in ("-o", self.one(["brev", "popc", "tcgen05", self.one(HOSTILE)]))
        ]
        return [*opcodes, *self.maybe(["--to", self.one([*NAMES, *HOSTILE, "pipe", "new/x", "new/y/x"])], 0.3)]

    def _vectors_write(self) -> list[str]:
        opcodes = [
            w
            for _ in range(self.random.randrange(3))
            for w in ("-o", self.one(["brev", "popc", "bra", self.one(HOSTILE)]))
        ]
        return [
            self.one(["v", "new", "sub", "new/deep", self.file()]),
            *opcodes,
            *self.maybe(["--profile", self.one(["hopper", "portable", self.one(HOSTILE)])], 0.2),
        ]

    def _vectors_check(self) -> list[str]:
        opcodes = [
            w
            for _ in range(self.random.randrange(2))
            for w in ("-o", self.one(["brev", "popc", "bra", self.one(HOSTILE)]))
        ]
        where = self.one([["v"], ["--recorded"], [self.file()], ["sub"]])
        return [*where, *opcodes, *self.maybe(["--partial"], 0.3), *self.maybe(["--show", self.number()], 0.2)]

    def _ledger(self) -> list[str]:
        return self.maybe(["--update"])

    def _fuzz(self) -> list[str]:
        """Nobody is asked anything: there are no seeds, or no time for one."""
        who = self.one(
            [["--engine"], ["--library", self.file()], ["--ptxas", self.file()], ["--ptxas", "/bin/false"], []]
        )
        more = self.maybe(["--levels", self.one(["0", "0,3", "4", "x", self.one(HOSTILE)])], 0.3)
        ways = [
            ["--report", "new"],
            ["--again", self.one(["v", "sub", "new"])],
            ["--journal", self.one(["k.ptx", "pipe", "sub", "link.j", *(n for n in FILES if n.endswith(".j"))])],
            ["--limit", self.number()],
        ]
        how_many = [["--count", self.one(["0", "-1", "x"])], ["--seconds", "1e-9"]]
        return [*who, *more, *self.one(ways), *self.one(how_many)]

    def _nothing(self) -> list[str]:
        return [self.one(HOSTILE)]


def words_of(command: str, seed: int) -> tuple[list[str], bool]:
    """(the words after `ptxspec`, whether JSON is asked for)"""
    maker = Maker(command, seed)
    as_json = maker.random.random() < 0.6
    words = maker.words()
    if as_json:
        words = [w for w in words if w not in ("-h", "--help", "--version")]
    return [*command.split(), *(["--json"] if as_json else []), *words], as_json


def called(words: list[str]) -> Result:
    """What becomes of a command in this process."""
    return CliRunner().invoke(main, words, input=KERNEL.encode())


def faults(command: str, as_json: bool, status: int, out: str, err: str) -> list[str]:
    """What is wrong with how a command ended."""
    found = []
    if status not in STATUSES[command]:
        found.append(f"status {status}")
    if "Traceback (most recent" in err + out:
        found.append("a traceback")
    found += [f"{c!r} on the standard error" for c in sorted(set(err)) if not c.isprintable() and c not in "\n\t"][:3]
    if not as_json:
        raw = command == "format"  # which gives back what it was given
        found += [
            f"{c!r} on the standard output"
            for c in sorted(set(out))
            if not raw and not c.isprintable() and c not in "\n\t"
        ][:3]
        return found + ([] if status == 0 or err or out else ["a failure without a word"])
    try:
        value = validated(command, out)
    except Exception as error:
        return [*found, f"JSON: {str(error)[:300]}"]
    failed = isinstance(value, dict) and "kind" in value
    if failed and value["status"] != status:
        found.append(f"status {status}, and {value['status']} is told")
    return found if failed or status in (0, 1) or command == "prove" else [*found, "a failure that is no failure"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def tried(command: str, seed: int, folder: Path) -> list[str]:
    """What is wrong with what becomes of a case in an empty folder."""
    words, as_json = words_of(command, seed)
    with prepared(folder):
        before = contents(folder)
        result = called(words)
        after = contents(folder)
    found = faults(command, as_json, result.exit_code, result.stdout, result.stderr)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        found.append(f"an exception: {result.exception!r}")
    writes = command in ("format", "vectors write", "export")
    writes |= (command == "run" and bool({"-s", "--save"} & set(words))) or (command == "litmus" and "--svg" in words)
    if not writes and before != after:
        found.append(f"files were changed: {sorted(set(before.items()) ^ set(after.items()))[:3]}")
    if after.get("v/mine.txt") != b"precious" or any(name.endswith(".new") for name in after):
        found.append("a file was lost, or one was left behind")
    return found


def main_of_fuzzer(command: str, seed: int) -> None:
    import tempfile

    words, as_json = words_of(command, seed)
    print(words)
    with tempfile.TemporaryDirectory() as name:
        with prepared(Path(name)):
            result = called(words)
        print(result.exit_code, result.stdout, result.stderr, sep="\n")
        print(faults(command, as_json, result.exit_code, result.stdout, result.stderr))


if __name__ == "__main__":
    main_of_fuzzer(" ".join(sys.argv[1:-1]), int(sys.argv[-1]))

__all__ = ["COMMANDS", "faults", "prepared", "tried", "words_of"]
