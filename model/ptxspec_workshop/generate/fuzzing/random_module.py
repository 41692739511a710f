"""A random module, made from a seed: an entry `k` for any number of threads, functions, variables and images. Some of what it
does may break a rule, in launches whose variable `mode` says so."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence

from ptxspec_workshop.generate.fuzzing.alphabet import NEWEST, Edition, EveryForm
from ptxspec_workshop.generate.fuzzing.layout import REGISTERS
from ptxspec_workshop.generate.fuzzing.module_statements import ModuleWriter
from ptxspec_workshop.generate.fuzzing.random_program import (
    Frame,
    RandomProgram,
    beginning,
    computed,
    declared,
    entry,
    giving,
)
from ptxspec_workshop.generate.fuzzing.random_statements import RandomFunction, flat
from ptxspec_workshop.generate.fuzzing.statement_kinds import ADDRESSES, KINDS, PLACES, VARIABLES
from ptxspec_workshop.generate.fuzzing.surroundings import ModuleImage, Surroundings

_POOL = {width: registers[:4] for width, registers in REGISTERS.items()}
_REGISTERS = (
    ".reg .b64 %in, %out, %at, %la, %lg, %cg, %cgs, %gs, %ka, %kg; .reg .b32 %t, %own, %gid, %nt, %nw, %mode;"
    " .reg .b32 %cs, %xs, %xn, %ss, %ds; .reg .pred %qb;"
)
_LOCAL = ".local .align 16 .b64 own[4];"
_PARAMETERS = ".param .u64 in, .param .u64 out, .param .align 16 .b8 block[64]"
#: what only some modules of today have, and how often. Only those without `frames` (local memory, calls and images) have turns of
#: warps where a launch wants them
_CHANCES = {"abi": 0.85, "functions": 0.6, "stack": 0.2, "clusters": 0.2, "dynamic": 0.25, "impatient": 0.2, "prints": 0.15,
            "heap": 0.15, "textures": 0.2, "surfaces": 0.15, "the_end": 0.2, "alike": 0.3, "recursion": 0.3}  # fmt: skip
#: what needs what
_IMPLIED = {"alike": {"abi", "functions", "frames"}, "recursion": {"abi", "functions", "frames"}, "prints": {"abi", "frames"},
            "heap": {"abi", "frames"}, "functions": {"frames"}, "stack": {"frames"}, "textures": {"frames"},
            "surfaces": {"frames"}, "the_end": {"frames"}}  # fmt: skip
#: old modules, and what these have
_EARLY: dict[Edition, set[str]] = {((2, 1), 20): {"early", "banks", "abi"}, ((4, 0), 35): {"early", "kepler", "abi"}}


def _features(source: random.Random, needed: set[str], allowed: set[str], frames: float) -> tuple[Edition, set[str]]:
    """The edition of a module and what it has, with what is needed of what some have. `frames` is how often it has these."""
    early = needed.intersection("early banks kepler".split())
    if early or (source.random() < 0.06 and "early" in allowed):
        edition = source.choice([e for e, features in _EARLY.items() if early <= features] or [*_EARLY])
        chances: dict[str, float] = {name: _CHANCES[name] for name in ("functions", "dynamic", "impatient", "alike")}
        features = set(_EARLY[edition])
    else:
        edition, chances, features = NEWEST, _CHANCES, {"today"}
    chances = {"frames": frames, **chances}
    features |= {
        name for name, chance in chances.items() if (source.random() < chance and name in allowed) or name in needed
    }
    for name in needed & features:
        features |= _IMPLIED.get(name, set())
    return edition, {name for name in features if _IMPLIED.get(name, set()) <= features}


class RandomModule(RandomProgram):
    """A module. It has statements of some kinds (names of KINDS), where its edition has them, and others `among` some. With
    `is_narrow` its entry takes and leaves only registers that its body names. `frames` is how often there are some that no kind
    needs."""

    def __init__(
        self,
        seed: int,
        kinds: Sequence[str] = (),
        among: Collection[str] = KINDS,
        sizes: tuple[int, int] = (10, 60),
        is_narrow: bool = False,
        frames: float = 0.5,
    ):
        self.seed, self.name, self.is_narrow = seed, "k", is_narrow
        self._source = source = random.Random(f"module {seed}")
        needed, allowed = (set(" ".join(KINDS[k].needs for k in some).split()) | {"abi"} for some in (kinds, among))
        self.edition, features = _features(source, needed - {"abi"}, allowed, frames)
        self.surroundings = module = Surroundings(EveryForm(self.edition), features, kinds, among, sizes)
        if "textures" in features:
            module.textures = [_texture(source, f"tex{i}") for i in range(2)]
        if "surfaces" in features:
            module.surfaces = [_surface(source)]
        if "functions" in features:
            self._write_functions()
        self.functions = [*module.functions]
        writer = ModuleWriter(source, module, REGISTERS, True)
        self.body = writer.program()
        self.end = writer.end("entry")

    # functions --------------------------------------------------------------------------------------------------------

    def _write_functions(self) -> None:
        source, module = self._source, self.surroundings
        if "alike" in module.features:
            style = source.choice(("reg", "param"))
            for i in range(source.randint(2, 3)):
                self._write(RandomFunction(f"a{i}", [32, 32], [32], style))
            module.alike = [*module.functions]
            module.has_table = source.random() < 0.6
        for i in range(source.randint(1, 2)):
            self._write(self._function(f"f{i}"))

    def _function(self, name: str) -> RandomFunction:
        """Without the convention that functions call one another by, there may be several results, of any width."""
        source, features = self._source, self.surroundings.features
        has_abi = "abi" in features
        widths = (32, 64) if has_abi else (16, 32, 64)
        takes = [source.choice(widths) for _ in range(source.randint(0, 3))]
        gives = [source.choice(widths) for _ in range(source.randint(0, 1 if has_abi else 2))]
        function = RandomFunction(name, takes, gives, source.choice(("reg", "param")) if has_abi else "reg")
        if "recursion" in features:
            return function._replace(takes=[32, *takes], is_recursive=True)
        if features.issuperset(("abi", "stack")) and source.random() < 0.4:
            return function._replace(takes=[32], takes_list=True)
        return function

    def _write(self, function: RandomFunction) -> None:
        """Add a function; where it is recursive, now and then another one, and both call one another."""
        circle = [function]
        if function.is_recursive and self._source.random() < 0.3:
            circle.append(function._replace(name=f"{function.name}b"))
        called: list[RandomFunction | None] = [*circle[1:], function] if function.is_recursive else [None]
        self.surroundings.functions += [self._written(f, again) for f, again in zip(circle, called, strict=True)]

    def _written(self, function: RandomFunction, recursion: RandomFunction | None) -> RandomFunction:
        source = self._source
        writer = ModuleWriter(source, self.surroundings, _POOL, False, recursion)
        body = writer.block(1, None)
        if recursion:
            body.append(writer.written("recursive_call", 1))
        body += writer.hazards(0.5, 1)
        results = [_POOL[w][i] for i, w in enumerate(function.gives)]
        end = f"{giving(function, results)}\n{writer.end('function')}\n}}"
        return function._replace(head=beginning(function, _POOL, source.getrandbits(3)), body=body, end=end)

    def _function_text(self, function: RandomFunction) -> str:
        body = flat(function.body)
        lines = computed(ADDRESSES, body)
        return "\n".join([function.head, *self._declared, declared([body]), *lines, body, function.end])

    @property
    def _declared(self) -> list[str]:
        """The registers of an entry or a function, and its local memory."""
        return [_REGISTERS, *([_LOCAL] if "frames" in self.surroundings.features else [])]

    # text -------------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole module."""
        module = self.surroundings
        texts = [
            f"{f.heading};" for f in self.functions if f.is_recursive or (module.has_table and f in self.functions[:2])
        ]
        if module.has_table:
            texts.append(f".global .u64 table[2] = {{{module.alike[0].name}, {module.alike[1].name}}};")
        texts += [self._function_text(f) for f in self.functions]
        frame = Frame(_PARAMETERS, self._declared, ADDRESSES, self.end)
        texts.append(entry(self.name, flat(self.body), self.is_narrow, frame))
        text = "\n".join(texts)
        words = set(re.findall(r"\w+", text))
        variables = [f".global .b8 seen[{len(PLACES)}];"]
        variables += [declaration for name, declaration in VARIABLES.items() if name in words or name == "mode"]
        variables += [f".global .{shape.opaque} {shape.name};" for shape in (*module.textures, *module.surfaces)]
        version, target = self.edition
        head = [f".version {version[0]}.{version[1]}", f".target sm_{target}"]
        head += [".address_size 64"] if version >= (2, 3) else []
        return "\n".join([*head, *variables, text, ""])


def _texture(source: random.Random, name: str) -> ModuleImage:
    geometry = source.choice(["1d", "2d", "2d", "3d", "a1d", "a2d", "cube"])
    dtype = source.choice(["uint8", "int16", "uint32", "int32", "float32", "float32", "float16"])
    fractions = dtype in ("uint8", "int16") and source.random() < 0.5
    filter = source.choice(["nearest", "linear"]) if fractions or dtype.startswith("float") else "nearest"
    normalized = geometry == "cube" or source.random() < 0.4
    return ModuleImage(name, "texref", geometry, dtype, source.choice([1, 2, 4]), filter, normalized, fractions)


def _surface(source: random.Random) -> ModuleImage:
    geometry = source.choice(["1d", "2d", "3d", "a1d", "a2d"])
    return ModuleImage(
        "surf", "surfref", geometry, source.choice(["uint32", "uint8", "int16"]), source.choice([1, 2, 4])
    )


def varied(seed: int) -> RandomModule:
    """The module of a seed. It has three kinds of statements in any case, which differ from seed to seed: so some seeds in a
    row have them all."""
    names = list(KINDS)
    return RandomModule(seed, [names[(3 * seed + i) % len(names)] for i in range(3)])


def brief(seed: int) -> RandomModule:
    """The small module of a seed: it has a kind of statement in any case, which differs from seed to seed, and few others."""
    names = list(KINDS)
    return RandomModule(seed, [names[seed % len(names)]], sizes=(2, 8), is_narrow=True, frames=0.25)
