"""A page's contract: the names that the model takes from it, and the one place where they are looked up.

A contract is a `Protocol`, whose properties are values that the page has and whose methods are functions of the page. `page` and
`family` bind contracts to pages; a page is loaded when something is first asked of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError

#: the package whose modules are the specification's pages
SPECIFICATION = "ptxspec.spec"

Owed = TypeVar("Owed")


class ContractError(DocumentError):
    """A page does not have what the model takes from it. `path` is the document, or the module's name where there is none."""


class Declared(NamedTuple):
    """A contract and the page, or the package of pages, that owes what it lists, as a module's name below the specification's."""

    name: str
    contract: type[Any]
    is_family: bool

    @property
    def pages(self) -> list[str]:
        """The pages that owe it, by the names that `resolved` takes."""
        if not self.is_family:
            return [self.name]
        package = f"{SPECIFICATION}."
        return [name.removeprefix(package) for name, _ in finder.pages(f"{package}{self.name}")]


#: every contract, in the order of the declarations
DECLARED: list[Declared] = []


def page(name: str, contract: Callable[..., Owed], declares: str = "") -> Callable[[], Owed]:
    """What gives the page `name`, such as "machine.limits", as its contract types it: a function that looks the page up once, and
    raises ContractError if the page is not there or lacks a name. `contract` is a Protocol. The pages of the folder `declares`
    are loaded before, if it is given: what they declare belongs to the page."""
    DECLARED.append(Declared(name, _protocol(contract), False))

    @cache
    def found() -> Owed:
        for declaring, _ in finder.pages(SPECIFICATION, declares) if declares else ():
            finder.load(declaring)
        return resolved(name, contract)

    return found


def family(name: str, contract: Callable[..., Owed]) -> Callable[[str], Owed]:
    """The same for pages of one package that owe the same: the function takes the page's name within the package."""
    DECLARED.append(Declared(name, _protocol(contract), True))

    @cache
    def found(member: str) -> Owed:
        return resolved(f"{name}.{member}", contract)

    return found


def resolved(name: str, contract: Callable[..., Owed]) -> Owed:
    """The page `name` below the specification, once it is seen to keep the contract. Raises ContractError for a page that is not
    there, for a name that it lacks, and for a name that should be a function and is none."""
    wanted = _protocol(contract)
    found = _loaded(f"{SPECIFICATION}.{name}", wanted)
    for one, is_function in names(wanted).items():
        if not hasattr(found, one):
            raise ContractError(
                str(found.__file__), 1, f"the page does not define {one}, which {_called(wanted)} asks for"
            )
        if is_function and not callable(getattr(found, one)):
            raise ContractError(str(found.__file__), 1, f"{one} is no function, which {_called(wanted)} asks for")
    return cast(Owed, found)  # which has just been seen


def names(contract: type[Any]) -> dict[str, bool]:
    """The names that a contract lists, and of each whether it is a function."""
    listed: dict[str, bool] = {}
    for base in reversed(contract.__mro__):
        if getattr(base, "_is_protocol", False):
            listed |= dict.fromkeys(getattr(base, "__annotations__", ()), False)
            listed |= {n: inspect.isfunction(own) for n, own in vars(base).items() if _is_member(n, own)}
    return listed


def _is_member(name: str, own: Any) -> bool:
    return not name.startswith("_") and (isinstance(own, property) or inspect.isfunction(own))


def _protocol(contract: Callable[..., Any]) -> type[Any]:
    if not (isinstance(contract, type) and getattr(contract, "_is_protocol", False)):
        raise TypeError(f"a contract is a Protocol, not {contract!r}")
    return contract


def _loaded(module: str, contract: type[Any]) -> ModuleType:
    try:
        found = finder.load(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ContractError(module, 1, f"there is no such page, which {_called(contract)} is about") from None
    if getattr(found, "__file__", None) is None:
        raise ContractError(module, 1, f"this is a folder, no page, which {_called(contract)} is about")
    return found


def _called(contract: type[Any]) -> str:
    return f"the contract {contract.__module__}.{contract.__qualname__}"
