"""What a litmus test needs of a kernel that runs it many times at once: threads, locations, outcomes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from ptxspec.query.litmus.programs import WARP
from ptxspec.query.litmus.reading import LitmusTest, read, values_in
from ptxspec.query.litmus.threads import FACTOR_MARK, ORDER_MARK, PROXY_MARK
from ptxspec.query.litmus.writing import ThreadBody, bodies_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.orders import Proxy

#: what a kernel finds at the address that it is given, each in 8 bytes; behind that an address of the locations for each access,
#: so that an assembler does not know which of them are the same, and one for each variable
SETTINGS = (
    "counters", "results", "scratch", "table", "other", "rounds", "groups", "stride", "apart", "seed", "teams", "slots", "tries",
    "delays", "touches", "span", "warm", "noise",
)  # fmt: skip
#: what stands for an outcome with a value that no counter is for
OTHER = "other"
#: an address between brackets, with its offset
ADDRESS_OF = r"\[\s*({})\s*(\+\s*\d+)?\s*\]"
ADDRESS = re.compile(ADDRESS_OF.format(r"[A-Za-z_$%][\w$]*"))
_BARRIER = re.compile(r"\b(?:bar|barrier)\.(?!cluster)\w+\S*\s+(\d+)\s*(?:,\s*(\d+))?\s*;")
_NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)\b")


def digest_of(text: str) -> str:
    """By which a test is known: the first 16 digits of the SHA-256 digest of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_of(line: str) -> str:
    return line.partition("//")[0].rstrip()


class PlayedThread(NamedTuple):
    """A thread of a test: its number, which of the clusters of a team it is in, which CTA of that, and which thread of that."""

    thread: int
    cluster: int
    rank: int
    position: int


class ShapeRequirements:
    """A litmus test as a kernel. `text` is the test; raises LitmusError, and Unsupported for what no kernel can say."""

    def __init__(self, text: str):
        self.test: LitmusTest = read(text)
        self.text = text
        self.digest = digest_of(text)
        self.name = f"t{self.digest}"
        self.bodies = bodies_of(self.test)
        #: the variables in global memory, and those in shared memory
        self.names = [name for name, (space, _) in self.test.types.items() if space == "global"]
        self.shared = [name for name, (space, _) in self.test.types.items() if space == "shared"]
        #: what is counted: the registers and variables of the test's condition, in order
        self.asked: list[tuple[Any, ...]] = values_in(self.test.condition)  # type: ignore[assignment]
        for space, _ in self.test.types.values():
            if space not in ("global", "shared"):
                raise Unsupported(f"{self.test.name}: a variable in .{space}")
        if self.shared and any(rank != role.rank for rank, role in zip(self.test.ranks, self.roles, strict=True)):
            raise Unsupported(f"{self.test.name}: CTAs with shared memory that are not numbered from 0 on")
        for value in self.asked:
            bits = self._type_of(value)
            if not bits.endswith("32"):
                raise Unsupported(f"{self.test.name}: an outcome with a value of .{bits}")
            if value[0] == "memory" and value[1] in self.shared:
                raise Unsupported(f"{self.test.name}: an outcome with a value in shared memory")

    def _type_of(self, value: tuple[Any, ...]) -> str:
        if value[0] == "memory":
            return self.test.types[value[1]][1]
        types = self.bodies[value[1]].registers
        return types[value[2]].name if value[2] in types else "b32"

    # where it runs -------------------------------------------------------------------------------------------------------

    @cached_property
    def roles(self) -> list[PlayedThread]:
        """The threads with their places."""
        clusters: dict[int, dict[int, int]] = {}
        taken: dict[int, int] = {}
        roles = []
        for thread, place in enumerate(self.test.places):
            ctas = clusters.setdefault(place.cluster, {})
            rank = ctas.setdefault(place.cta, len(ctas))
            position = taken[place.cta] = taken.get(place.cta, -1) + 1
            roles.append(PlayedThread(thread, list(clusters).index(place.cluster), rank, position))
        return roles

    @property
    def clusters(self) -> int:
        """How many clusters a team has."""
        return 1 + max(role.cluster for role in self.roles)

    @property
    def ctas(self) -> int:
        """How many CTAs a cluster has."""
        return 1 + max(role.rank for role in self.roles)

    @property
    def warps(self) -> int:
        """How many warps of a CTA play threads of one instance, at most."""
        return 1 + max(role.position for role in self.roles)

    @cached_property
    def has_barriers(self) -> bool:
        """Whether threads wait for one another, so that a CTA has no warps but theirs."""
        return any(re.match(r"bar\.|barrier\.|barrier\{", line) for body in self.bodies for line, _ in body.lines)

    @property
    def objects(self) -> list[str]:
        """The variables that are objects."""
        return [name for name in self.shared if self.test.variables[name].is_object]

    @cached_property
    def aliases(self) -> bool:
        """Whether the locations need a second address."""
        return any(variable.location for variable in self.test.variables.values())

    @cached_property
    def refusal(self) -> str:
        """Why it is not put to a GPU, or nothing."""
        lines = [line for body in self.bodies for line, _ in body.lines]
        if any(variable.map_of for variable in self.test.variables.values()):
            return "a tensor map"
        if len({place.gpu for place in self.test.places}) > 1:
            return "two GPUs"
        if any(variable.proxy is not Proxy.GENERIC for variable in self.test.variables.values()):
            return "another proxy"
        if any(mark in line for mark in (PROXY_MARK, ORDER_MARK, FACTOR_MARK) for line in lines):
            return "not PTX"
        return "" if self._barriers_complete() else "waits for ever"

    def _barriers_complete(self) -> bool:
        """Whether as many threads of a CTA come to each barrier as it counts: without a number all of them, as often."""
        comes: dict[int, list[list[tuple[str, str | None]]]] = {}
        for place, body in zip(self.test.places, self.bodies, strict=True):
            met = [(m[1], m[2]) for line, _ in body.lines if (m := _BARRIER.search(line))]
            comes.setdefault(place.cta, []).append(met)
        return all(
            sum(other == barrier for met in threads for other in met)
            == max(met.count(barrier) for met in threads) * (int(barrier[1]) // WARP if barrier[1] else len(threads))
            for threads in comes.values()
            for barrier in {b for met in threads for b in met}
        )

    # what is counted -----------------------------------------------------------------------------------------------------

    @cached_property
    def candidates(self) -> list[int]:
        """The values that are told apart: small ones, those that the test names, the next ones, to which it may count, and those
        that registers keep where nothing is loaded."""
        words = [cell.text for column in self.test.columns for cell in column]
        named = {int(n, 0) for word in words for n in _NUMBER.findall(word)}
        kept = self.test.registers.values()
        return sorted(n for n in {*range(4), *named, *(n + 1 for n in named), *kept} if n < 1 << 32)

    @property
    def outcomes(self) -> int:
        """How many counters the outcomes need: for each value one more than there are candidates."""
        return int((len(self.candidates) + 1) ** len(self.asked))

    def outcome(self, index: int) -> tuple[int, ...] | None:
        """The values that a counter is for, in the order of `asked`; None if there is another one among them."""
        digits = []
        for _ in self.asked:
            index, digit = divmod(index, len(self.candidates) + 1)
            digits.append(digit)
        if any(digit == len(self.candidates) for digit in digits):
            return None
        return tuple(self.candidates[digit] for digit in reversed(digits))

    # the kernels ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _address(self) -> re.Pattern[str]:
        """An access to global memory, or the name of a variable in shared memory, which instructions may have as an operand."""
        if not self.shared:
            return ADDRESS
        of_shared = rf"(?<![\w.:$%])({'|'.join(map(re.escape, self.shared))})(?![\w.:$])"
        return re.compile(f"{ADDRESS_OF.format('|'.join(map(re.escape, self.names)) or '(?!)')}|{of_shared}")

    def accessed(self, body: ThreadBody) -> list[str]:
        """The variable of each access of a thread, in order."""
        return [match[1] or match[3] for line, _ in body.lines for match in self._address.finditer(code_of(line))]

    def with_addresses(self, body: ThreadBody) -> Iterator[str]:
        """The instructions of a thread; the addresses of its accesses are in %a0, %a1 and so on, those in shared memory in %s0,
        %s1 and so on."""
        counter = count()
        for line, _ in body.lines:
            yield self._address.sub(
                lambda m: f"[%a{next(counter)}{m[2] or ''}]" if m[1] else f"%s{next(counter)}", code_of(line)
            )

    @cached_property
    def accesses(self) -> list[str]:
        """The variable of each access, thread by thread: the order of the addresses behind the settings."""
        return [name for body in self.bodies for name in self.accessed(body)]

    @cached_property
    def places(self) -> dict[str, int]:
        """Which location of an instance in its memory a variable is: aliases are the same."""
        first = [name for name in self.names if not self.test.variables[name].location]
        return {
            **{name: first.index(self.test.variables[name].location or name) for name in self.names},
            **{name: place for place, name in enumerate(self.shared)},
        }

    @property
    def locations(self) -> int:
        """How many locations an instance has in global memory."""
        return max((1 + self.places[name] for name in self.names), default=0)

    @property
    def room(self) -> int:
        """The bytes that a location in global memory needs, at least."""
        return max([8, *(self.test.variables[name].size for name in self.names)])

    @property
    def addresses(self) -> list[str]:
        """The variables whose addresses lie behind the settings: one for each access, and then once each."""
        return [*self.accesses, *self.names, *self.shared]

    @property
    def _of_variables(self) -> int:
        """Where among the settings the addresses of the variables begin."""
        return 8 * (len(SETTINGS) + len(self.accesses))

    @property
    def of_shared(self) -> int:
        """Where the offsets of those in shared memory begin. Behind these stands how far apart instances are there."""
        return self._of_variables + 8 * len(self.names)
