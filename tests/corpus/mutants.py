"""Modules with one thing changed, and what the checker and ptxas say of them.

python tests/corpus/mutants.py COUNT SEED prints how often both agree, and what they differ in, most frequent first.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ptxspec.evidence.assembler import ptxas
from ptxspec.language.check import check
from ptxspec.language.errors import PtxError

KEPT = Path(__file__).resolve().parent / "compiled.json.xz"
#: larger modules are not mutated: an assembler's time goes with their size
LARGEST = 9000

TYPES = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 pred".split()
SPACES = "global shared local const param".split()
WORDS = (
    "sat ftz rn rz rm rp rni rzi lo hi wide eq ne lt le gt ge lo hi and or xor sync aligned volatile relaxed acquire release"
    " gpu cta sys v2 v4 nc ca cg cs approx full uni cc clamp wrap l r add min max exch cas to"
).split()
OPERANDS = (
    "0 1 -1 255 4294967295 4294967296 0f3F800000 0d3FF0000000000000 1.5 _ WARP_SZ %tid.x %laneid %clock64 0x7F".split()
)
VERSIONS = "9.0 8.8 8.0 7.8 7.0 6.5 6.4 6.0 5.0 4.2 3.2 3.0 9.1".split()
#: none that is later than the one that is assembled for
TARGETS = "sm_90 sm_89 sm_87 sm_86 sm_80 sm_75 sm_72 sm_70 sm_61 sm_60 sm_53 sm_50 sm_35 sm_30 sm_20".split()
_TOKEN = re.compile(r"\s+|//[^\n]*|\"[^\"\n]*\"|[\w$%]+(?:::\w+)?|\.[A-Za-z]\w*(?:::\w+)*|.", re.S)
_STATEMENT = re.compile(r"^[ \t]*(?:@|[a-z])[^;{}\n]*;[ \t]*\n", re.M)
_DECLARATION = re.compile(r"^[^\n]*\.(?:reg|param|shared|local|global|const)\b[^\n]*\n", re.M)


#: how the complaints begin that are none: a signal, or an error within ptxas
CRASHES = (
    "exit ",
    "ptxas fatal   : Attempted to Dereference Out of Bounds",
    "ptxas fatal   : Memory allocation failure",
)


class Mutant(NamedTuple):
    """`what` says from which module it comes, and what was done to it."""

    what: str
    text: str


class Verdict(NamedTuple):
    """The first complaint of each, None where the module is accepted."""

    mutant: Mutant
    ours: str | None
    theirs: str | None

    @property
    def crashed(self) -> bool:
        """Whether ptxas broke down instead of giving a verdict."""
        return self.theirs is not None and self.theirs.startswith(CRASHES)

    @property
    def agrees(self) -> bool:
        return (self.ours is None) == (self.theirs is None)


@cache
def modules() -> dict[str, str]:
    """What nvcc printed, by the source's name and nvcc's flags."""
    return json.loads(lzma.decompress(KEPT.read_bytes()))


def _one(rng: random.Random, text: str, pattern: str | re.Pattern[str], new: object) -> str | None:
    """The text with one match of a pattern replaced: by a word, or by what a function of the match gives."""
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    match = rng.choice(found)
    made = new(match) if callable(new) else new
    return text[: match.start()] + str(made) + text[match.end() :]


def _mutated(kind: str, text: str, rng: random.Random) -> str | None:
    """One accident of a kind, or None if the module has nothing for it."""
    statements = list(_STATEMENT.finditer(text))
    if kind == "a type":
        return _one(rng, text, r"(?<=\.)(?:[bsu](?:8|16|32|64)|f(?:32|64)|pred)\b", rng.choice(TYPES))
    if kind == "a width":
        return _one(rng, text, r"(?<=\.[busf])(?:8|16|32|64)\b", rng.choice(["8", "16", "32", "64"]))
    if kind == "a sign":
        return _one(rng, text, r"(?<=\.)[bus](?=(?:8|16|32|64)\b)", rng.choice("bus"))
    if kind == "a space":
        return _one(rng, text, rf"(?<=\.)(?:{'|'.join(SPACES)})\b", rng.choice(SPACES))
    if kind == "a modifier":
        return _one(rng, text, rf"(?<=\.)(?:{'|'.join(WORDS)})\b", rng.choice(WORDS))
    if kind == "a modifier more":
        return _one(rng, text, r"(?<=\n)[ \t]*[a-z]\w*(?=\.)", lambda m: m[0] + "." + rng.choice(WORDS + SPACES))
    if kind == "a modifier less":
        return _one(rng, text, r"(?<=[a-z\d])\.[a-z]\w*(?=[. \t])", "")
    if kind == "two modifiers":
        return _one(rng, text, r"(\.[a-z]\w*)(\.[a-z]\w*)(?=[ \t.])", lambda m: m[2] + m[1])
    if kind == "an operand":
        names = re.findall(r"(?<=[ ,{\[])%?[\w$]+(?=[,;}\]+])", text) or ["%r1"]
        other = rng.choice([rng.choice(OPERANDS), rng.choice(names), rng.choice(names)])
        return _one(rng, text, r"(?<=[ \t,{\[])[%\w$]+(?=[,;}\]])", other)
    if kind == "a register of its kind":
        return _one(rng, text, r"(%[a-z]+)\d+(?=[,;}\]])", lambda m: m[1] + str(rng.randrange(1, 60)))
    if kind == "an operand less":
        return _one(rng, text, r", *[^,;{}()\[\]\n]+(?=;)", "")
    if kind == "an operand more":
        return _one(rng, text, r"(, *[^,;{}()\[\]\n]+)(?=;)", lambda m: m[1] * 2)
    if kind == "a number":
        values = [*"0123456789", "-1", "16", "17", "32", "64", "128", "65536", "4294967296"]
        return _one(rng, text, r"(?<=[ ,\[<+(])-?\d+(?=[,;\]>)\n ])", rng.choice(values))
    if kind == "an offset":
        return _one(rng, text, r"(?<=[\w\]])(?=\])", rng.choice(["+4", "+1", "-4", "+-8", "+%r1", "+0", "+4294967296"]))
    if kind == "a sign or a selector":
        return _one(
            rng,
            text,
            r"(?<=[ ,])(%\w+)(?=[,;])",
            lambda m: rng.choice(["-", "!", "~", ""]) + m[1] + rng.choice(["", ".x", ".b0", "+4"]),
        )
    if kind == "a guard":
        return _one(rng, text, r"(?<=\n\t)(?=[a-z]\w*[. ])", rng.choice(["@%p1 ", "@!%p1 ", "@%r1 ", "@!", "@ !%p2 "]))
    if kind == "a statement less" and statements:
        match = rng.choice(statements)
        return text[: match.start()] + text[match.end() :]
    if kind == "a statement twice" and statements:
        match = rng.choice(statements)
        return text[: match.end()] + match[0] + text[match.end() :]
    if kind == "a statement elsewhere" and len(statements) > 1:
        match, other = rng.choice(statements), rng.choice(statements)
        return text[: other.end()] + match[0] + text[other.end() :]
    if kind == "a declaration less":
        return _one(rng, text, _DECLARATION, "")
    if kind == "a declaration twice":
        return _one(rng, text, _DECLARATION, lambda m: m[0] * 2)
    if kind == "an alignment":
        return _one(
            rng, text, r"(?<=\.align )\d+", rng.choice(["0", "1", "2", "3", "4", "8", "16", "128", "256", "-1"])
        )
    if kind == "a linkage":
        words = [".visible ", ".extern ", ".weak ", ".common ", ""]
        return _one(
            rng,
            text,
            r"(?:\.visible |\.extern |\.weak )|(?<=\n)(?=\.(?:global|entry|func|shared|const))",
            rng.choice(words),
        )
    if kind == "a version":
        return _one(rng, text, r"(?<=\.version )[\d.]+", rng.choice(VERSIONS))
    if kind == "a target":
        return _one(rng, text, r"(?<=\.target )\w+", rng.choice(TARGETS))
    if kind == "a directive":
        words = [
            ".maxntid 32",
            ".reqntid 32, 2",
            ".minnctapersm 2",
            ".maxnreg 32",
            ".noreturn",
            '.pragma "nounroll";',
            ".maxclusterrank 2",
        ]
        return _one(rng, text, r"(?<=\))\n", lambda m: "\n" + rng.choice(words) + "\n")
    if kind.startswith("a token"):
        tokens: list[str] = _TOKEN.findall(text)
        places = [i for i, t in enumerate(tokens) if t.strip() and not t.startswith("//")]
        at = rng.choice(places)
        if kind == "a token less":
            tokens[at] = ""
        elif kind == "a token twice":
            tokens[at] += rng.choice(["", " "]) + tokens[at]
        else:
            tokens[at] = tokens[rng.choice(places)]
        return "".join(tokens)
    return None


#: what is done to modules, and how often
KINDS = {
    "a type": 6, "a width": 4, "a sign": 6, "a space": 4, "a modifier": 6, "a modifier more": 4, "a modifier less": 4,
    "two modifiers": 3, "an operand": 8, "a register of its kind": 4, "an operand less": 2, "an operand more": 2,
    "a number": 5, "an offset": 3, "a sign or a selector": 3, "a guard": 3, "a statement less": 3, "a statement twice": 2,
    "a statement elsewhere": 4, "a declaration less": 2, "a declaration twice": 1, "an alignment": 3, "a linkage": 4,
    "a version": 3, "a target": 3, "a directive": 2, "a token less": 5, "a token twice": 4, "a token for another": 3,
}  # fmt: skip


def mutants(count: int, seed: int) -> Iterator[Mutant]:
    """Of modules that the checker accepts. The same for the same seed."""
    rng = random.Random(seed)
    small = {name: text for name, text in sorted(modules().items()) if len(text) <= LARGEST and complaint(text) is None}
    names = list(small)
    while count:
        name, kind = rng.choice(names), rng.choices(list(KINDS), list(KINDS.values()))[0]
        text = _mutated(kind, small[name], rng)
        if text is not None and text != small[name]:
            count -= 1
            yield Mutant(f"{name}: {kind}", text)


def complaint(text: str) -> str | None:
    """The checker's first complaint. Whatever else it raises is a defect, and goes on up."""
    try:
        check(text)
    except PtxError as error:
        return f"{error.diagnostics[0].message} | {error.diagnostics[0].source.strip()}"
    return None


def refusal(text: str) -> str | None:
    """The first complaint of ptxas for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "m.ptx")
        source.write_text(text)
        command = [ptxas(), "-arch=sm_90", "-O0", str(source), "-o", str(Path(folder, "m.cubin"))]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if not run.returncode:
        return None
    errors = [line for line in (run.stdout + run.stderr).splitlines() if re.search("error|fatal", line)]
    found = re.search(r"line (\d+); \w+ *: (.*)", errors[0]) if errors else None
    if found is None:
        return errors[0] if errors else f"exit {run.returncode}"
    lines = text.splitlines()
    return f"{found[2]} | {lines[min(int(found[1]), len(lines)) - 1].strip()}"


def verdicts(found: Iterable[Mutant], workers: int = 2) -> Iterator[Verdict]:
    """Both verdicts on each; ptxas runs as often as there are workers, at the same time."""
    found = list(found)
    with ThreadPoolExecutor(workers) as pool:
        for mutant, theirs in zip(found, pool.map(lambda m: refusal(m.text), found), strict=True):
            yield Verdict(mutant, complaint(mutant.text), theirs)


def difference(verdict: Verdict) -> str:
    """What a difference has in common with others: the message, without names and numbers."""
    message = verdict.ours or verdict.theirs or ""
    message = re.sub(r"'[^']*'|%\w+|\d+", "#", message.split(" | ")[0])
    return ("we refuse: " if verdict.ours else "ptxas refuses: ") + message


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    seen, kinds, examples = Counter[tuple[bool, bool]](), Counter[str](), dict[str, list[Verdict]]()
    crashes = 0
    for verdict in verdicts(mutants(count, seed)):
        if verdict.crashed:
            crashes += 1
            continue
        seen[verdict.ours is None, verdict.theirs is None] += 1
        if not verdict.agrees:
            kinds[difference(verdict)] += 1
            examples.setdefault(difference(verdict), []).append(verdict)
    print(f"{count} mutants: both accept {seen[True, True]}, both refuse {seen[False, False]}, ", end="")
    print(f"we alone refuse {seen[False, True]}, ptxas alone {seen[True, False]}; ptxas broke down on {crashes}")
    print(f"agreement {100 * (seen[True, True] + seen[False, False]) / (count - crashes):.2f} %")
    for what, often in kinds.most_common():
        print(f"{often:4} {what}")
        for verdict in examples[what][:3]:
            print(f"       {(verdict.ours or verdict.theirs or '').split(' | ')[-1]}   ({verdict.mutant.what})")


if __name__ == "__main__":
    main()
