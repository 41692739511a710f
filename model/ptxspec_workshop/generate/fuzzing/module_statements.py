"""Writes the statements of random modules (statement_kinds.py)."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from ptxspec_workshop.generate.fuzzing.random_instruction import Pool, instruction
from ptxspec_workshop.generate.fuzzing.random_statements import Block, RandomFunction, Statement, Writer, flat
from ptxspec_workshop.generate.fuzzing.statement_kinds import ENDS, KINDS, PLACES, WARP, WRONG, Kind
from ptxspec_workshop.generate.fuzzing.surroundings import ModuleImage, Surroundings

#: marks of a kind in a module, at most
MARKS = 3
_INDICES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3}


class ModuleWriter(Writer):
    """Writes statements of the kinds that are there. `recursion` is the function that a function may call again."""

    cells = {"shared": ["%cs", "%ss"], "global": ["%cg", "%gs"], "": ["%cg", "%cgs", "%gs"]}
    guarded_with_parameters = 0.3

    def __init__(
        self,
        source: random.Random,
        module: Surroundings,
        pool: Pool,
        is_entry: bool,
        recursion: RandomFunction | None = None,
    ):
        super().__init__(source, module.letters, pool, module.functions, True)
        self.module, self.is_entry, self.recursion = module, is_entry, recursion
        self.has_frames = "frames" in module.features
        #: labels behind the loops around the statement, and whether all threads come to it
        self.exits: list[str] = []
        self.is_together = is_entry

    # which ------------------------------------------------------------------------------------------------------------

    def here(self, depth: int) -> set[str]:
        """What is there, and where a statement would stand: `together` if all threads of a CTA that have not ended come there."""
        is_together = self.is_entry and depth == 0
        words = {
            "entry": self.is_entry,
            "together": is_together,
            "apart": not is_together,
            "inside": depth > 0,
            "outer": depth < 2,
            "shallow": depth < 3,
            "looping": self.exits,
            "straight": not self.exits,
            "functions": self.functions and len(self.exits) < 2,
            "alike": self.module.alike and len(self.exits) < 2,
            "recursion": self.recursion,
        }
        return self.module.features - words.keys() | {word for word, so in words.items() if so}

    def drawn(self, kinds: Mapping[str, Kind], depth: int) -> str:
        """The name of a kind that may stand there."""
        here = self.here(depth)
        weights = {name: kind.weight for name, kind in kinds.items() if here.issuperset(kind.needs.split())}
        if kinds is KINDS:
            weights = {name: weight for name, weight in weights.items() if name in self.module.among}
        return self.source.choices(list(weights), list(weights.values()))[0]

    def program(self) -> Block:
        """The body of an entry, with statements of the kinds that the module has in any case."""
        source, here = self.source, self.here(0)
        body = [
            self.written(k) for k in self.module.kinds if KINDS[k].weight and here.issuperset(KINDS[k].needs.split())
        ]
        target = source.randint(*self.module.sizes)
        while sum(flat([s]).count(";") for s in body) < target:
            body += self.hazards(0.1) or [self.statement(0, None)]
        body += self.hazards(0.7)
        if source.random() < 0.2 and "early_end" in self.module.among:
            body += [["@%p0 bra FINISH;"], *self.block(1, None)]
        return body

    def hazards(self, often: float, depth: int = 0) -> Block:
        """One or none of what may break a rule."""
        return [self.written("hazard", depth)] if "hazard" in self.module.among and self.source.random() < often else []

    def statement(self, depth: int, loop: str | None) -> Statement:
        return self.written(self.drawn(KINDS, depth), depth, loop)

    def written(self, name: str, depth: int = 0, loop: str | None = None) -> Statement:
        """A statement of a kind, with a mark that it is executed."""
        self.is_together = self.is_entry and depth == 0
        if KINDS[name].text:
            parts = self.expanded(KINDS[name].text, depth, loop)
        else:
            arguments = {"branch": (depth, loop), "table": (depth, loop), "loop": (depth,), "leave": (loop,)}
            parts = getattr(self, name)(*arguments.get(name, ()))
        return [*self.mark(name), *parts]

    def mark(self, what: str) -> list[str]:
        """A line that notes that the program has come here."""
        self.module.written[what] += 1
        return [f"st.global.u8 [seen+{PLACES.index(what)}], 1;"] if self.module.written[what] <= MARKS else []

    def end(self, what: str) -> str:
        """How a function or an entry ends."""
        way = self.drawn(ENDS, 0 if self.is_entry else 1)
        return "\n".join([*self.mark(f"{what} ends with {way}"), *map(str, self.expanded(ENDS[way].text))])

    def block(self, depth: int, loop: str | None) -> Block:
        before = list(self.exits)
        self.exits += [loop] if loop and loop not in before else []
        statements = super().block(depth, loop)
        self.exits = before
        return statements

    # templates --------------------------------------------------------------------------------------------------------

    def expanded(self, template: str, depth: int = 0, loop: str | None = None) -> Statement:
        """A statement of a template: its lines, with blocks between."""
        text = template
        while "«" in text:  # the outermost first: what is not chosen draws nothing
            text = _outermost(text, self.source)
        known: dict[str, str] = {}
        parts: Statement = []
        for piece in re.split(r"(\$block)", text):
            if piece == "$block":
                parts.append(self.block(depth + 1, loop))
            else:
                parts.append(re.sub(r"\$([a-zA-Z]+)(\d*)", lambda m: self._named(m[1], m[2], known), piece).strip())
        return parts

    def _named(self, name: str, number: str, known: dict[str, str]) -> str:
        """What stands for a name in a template; `known` is what names with a number stand for."""
        if name + number in known:
            return known[name + number]
        among = {
            "r": self.pool[32],
            "d": self.pool[64],
            "h": self.pool[16],
            "p": self.pool[1],
            "b": list(map(str, range(1, 16))),
        }
        if name in among:
            text = self.source.choice([v for v in among[name] if not number or v not in known.values()])
        elif name == "wrong":
            way = self.drawn(WRONG, 1)
            self.module.written[f"wrong {way}"] += 1
            text = "\n".join(self.expanded(WRONG[way].text) if WRONG[way].text else getattr(self, f"wrong_{way}")())
        elif name == "hazard":
            self.module.hazards += 1
            text = str(self.module.hazards)
        else:
            ways = {
                "L": lambda: f"L{self.number()}",
                "n": lambda: str(self.number()),
                "g": lambda: self.guard(0.2),
                "c": lambda: self.guard(1),
                "plain": self.plain,
            }
            text = ways[name]()
        if number:
            known[name + number] = text
        return text

    # kinds that are no templates ------------------------------------------------------------------------------------

    def plain(self) -> str:
        return self.guard(0.2) + self.instruction(self.letters.choose(self.source, "plain"))

    def meeting(self) -> Statement:
        """A form for a whole CTA or its warps."""
        return [instruction(self.source, self.letters.choose(self.source, "meeting"), self.pool, count="%nw")]

    def meetings_of_ballots(self, mask: str = "-1", depth: int = 0) -> Statement:
        """Meetings of warps in branches and loops that depend on the data. Masks are ballots, so that they are right."""
        inner, meeting = f"%m{depth}", f"{WARP.replace('MASK', mask)} $plain "
        if depth == 3:
            return self.expanded(meeting)
        first, second = (flat([self.meetings_of_ballots(inner, depth + 1)]) for _ in range(2))
        count = f"%c{depth}"
        ways = [
            f"vote.sync.ballot.b32 {inner}, $p1, {mask}; @!$p1 bra $L1; {first} bra $L2;"
            f" $L1: xor.b32 {inner}, {inner}, {mask}; {second} $L2:",
            f"and.b32 {count}, $r, 3; mov.b32 {inner}, {mask}; $L1: setp.gt.s32 $p1, {count}, 0; sub.u32 {count}, {count}, 1;"
            f" vote.sync.ballot.b32 {inner}, $p1, {inner}; @!$p1 bra $L2; {first} bra $L1; $L2:",
        ]
        around = "{{ .reg .b32 %m<3>, %c<3>; {} }}" if depth == 0 else "{}"
        return self.expanded(around.format(f"{meeting} {self.source.choice(ways)} {meeting}"))

    def leave(self, where: str | None) -> Statement:
        return super().leave(self.source.choice(self.exits))

    def called(self, function: RandomFunction, taken: Sequence[str], given: Sequence[str], guarded: float = 0.3) -> str:
        before = "{"
        if function.is_recursive:
            depth = "mov.u32 %dn, %dm;" if function is self.recursion else self.line("and.b32 %dn, $r, 3;")
            before += f" .reg .b32 %dn; {depth}" + (" st.param.b32 [g0], %dn;" if given[0] == "g0" else "")
            given = [given[0] if given[0] == "g0" else "%dn", *given[1:]]
        if function.takes_list:
            count = self.source.randint(1, 4)
            before += f" .param .align 8 .b8 rest[{4 * count}];"
            before += "".join(self.line(f" st.param.b32 [rest+{4 * i}], $r;") for i in range(count))
            given = [str(count), *given[1:], "rest"]
        sink = len(taken) == 1 and taken[0] != "back" and self.source.random() < 0.1
        given = [g if g.startswith(("g", "%d")) or self.source.random() < 0.8 or g == "rest" else "7" for g in given]
        text = super().called(function, ["_"] if sink else taken, given, guarded)
        if self.is_together and text.startswith("call") and self.source.random() < 0.2:
            text = text.replace("call", "call.uni", 1)
        return f"{before} {text} }}"

    def line(self, template: str) -> str:
        return " ".join(self.expanded(template))

    def recursive_call(self) -> Statement:
        """A call of the function itself, or of one that calls this one again."""
        over = f"L{self.number()}"
        before = f"{{ .reg .b32 %dm; setp.eq.u32 %qb, %dp, 0; @%qb bra {over}; sub.u32 %dm, %dp, 1;"
        return [before, *self.call(self.recursion), f"{over}: }}"]

    def indirect_call(self) -> Statement:
        """Through a table in memory, or a register; with a prototype, or a list."""
        a, b = self.source.sample(self.module.alike, 2)
        targets = f"«.calltargets {a.name}, {b.name}¦{a.prototype}»"
        ways = [f"P$n1: {targets}; mov.u64 %fn, {a.name}; $c mov.u64 %fn, {b.name};"]
        if self.module.has_table:
            read = "mov.u64 %fn, table; mad.wide.u32 %fn, %t, 8, %fn; ld.global.u64 %fn, [%fn];"
            ways.append(f"P$n1: {a.prototype}; and.b32 %t, $r, 1; {read}")
        return self.expanded(f"{{ .reg .b64 %fn; {self.source.choice(ways)} $g call ($r), %fn, ($r, $r), P$n1; }}")

    def wrong_call(self) -> Statement:
        function = self.module.alike[0]
        return self.expanded(
            f"{{ .reg .b64 %bad; T$n1: «{function.prototype}¦.calltargets {function.name}»;"
            " mov.b64 %bad, «0¦8¦-1¦16¦0x7fffffffffffffff¦$d»; call ($r), %bad, ($r, $r), T$n1; }"
        )

    # images -----------------------------------------------------------------------------------------------------------

    def coordinates(self, shape: ModuleImage, floating: bool) -> tuple[str, str]:
        """What makes coordinates from registers, and the coordinates in braces."""
        count, form = _INDICES[shape.geometry], "%z{}" if floating else "%y{}"
        lines = "and.b32 %y3, $r, 3; " if shape.geometry.startswith("a") else ""
        names = ["%y3"] if lines else []
        for i in range(count):
            lines += f"and.b32 %y{i}, $r, 15; sub.s32 %y{i}, %y{i}, 3; "
            scale = "0f3E4CCCCD" if shape.normalized else "0f3F400000"
            lines += f"cvt.rn.f32.s32 %z{i}, %y{i}; mul.rn.f32 %z{i}, %z{i}, {scale}; " if floating else ""
            names.append(form.format(i))
        return lines, "{" + ", ".join([*names, *names[-1:] * (len(names) == 3)]) + "}"

    def textures(self) -> Statement:
        shape = self.source.choice(self.module.textures)
        floating = (
            shape.normalized or "linear" in shape.filter or shape.geometry == "cube" or self.source.random() < 0.5
        )
        lines, at = self.coordinates(shape, floating)
        form = f"{shape.geometry}.v4.{shape.result}.{'f32' if floating else 's32'} {{$r1, $r2, $r3, $r4}}, [{shape.name}, {at}]"
        level = f"¦tex.level.{form}, 0f3F000000" if floating else ""
        query = f"txq.«width¦height¦channel_data_type¦normalized_coords».b32 $r, [{shape.name}]"
        how = f"«tex.{form}¦tex.{form}¦tex.{form}{level}¦{query}»"
        return self.expanded(f"{{ .reg .b32 %y<4>; .reg .f32 %z<4>; {lines} $g {how}; }}")

    def surfaces(self) -> Statement:
        shape = self.source.choice(self.module.surfaces)
        lines, at = self.coordinates(shape, False)
        place = f"[{shape.name}, {at}]"
        how = (
            f"«suld.b.{shape.geometry}.b32.«clamp¦zero» $r, {place}¦sust.b.{shape.geometry}.b32.«clamp¦zero» {place}, $r"
            f"¦sust.b.{shape.geometry}.b16.«clamp¦zero» {place}, $h¦suq.width.b32 $r, [{shape.name}]»"
        )
        return self.expanded(f"{{ .reg .b32 %y<4>; {lines} shl.b32 %y0, %y0, 2; $g {how}; }}")

    def wrong_surfaces(self) -> Statement:
        shape = self.module.surfaces[0]
        at = ", ".join(["%t"] * {"1d": 1, "a1d": 2, "2d": 2}.get(shape.geometry, 4))
        return self.expanded(
            f"«mov.u32 %t, «-4¦1¦4000»; suld.b.{shape.geometry}.b32.trap $r, [{shape.name}, {{{at}}}];"
            f"¦{{ .reg .b64 %bad; mov.b64 %bad, «0¦-1¦$d»; suld.b.{shape.geometry}.b32.zero $r, [%bad, {{{at}}}]; }}»"
        )


def _outermost(text: str, source: random.Random) -> str:
    """The text with one of the alternatives in the place of its first brackets."""
    start = text.index("«")
    level, bars = 0, [start]
    for i in range(start, len(text)):
        level += (text[i] == "«") - (text[i] == "»")
        if level == 0:
            break
        if level == 1 and text[i] == "¦":
            bars.append(i)
    ends = [*bars[1:], i]
    k = source.randrange(len(bars))
    return text[:start] + text[bars[k] + 1 : ends[k]] + text[i + 1 :]
