"""What a machine chooses of the results that PTX leaves open."""

from __future__ import annotations

from typing import Any, TypeAlias

#: (the freedom's attributes, the values of its operands) -> bits
Choices: TypeAlias = dict[tuple[Any, tuple[int, ...]], int]
