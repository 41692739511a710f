"""What a command says, validated: JSON as RFC 8259 has it, by the schema of the command."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from ptxspec.cli import main

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "reference" / "schemas"
COMMANDS = (
    "check",
    "format",
    "run",
    "eval",
    "explain",
    "prove",
    "find",
    "litmus",
    "synthesize",
    "forms",
    "page",
    "export",
    "vectors write",
    "vectors check",
    "ledger",
    "fuzz",
)
#: the exit statuses that docs/reference/json.md gives the commands
STATUSES = {
    **{name: {0, 1, 2} for name in COMMANDS},
    "prove": {0, 1, 2, 3},
    "": {0, 2},
}


@cache
def validator(command: str) -> Draft202012Validator:
    contents = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry: Registry = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in contents.items()
    )
    schema = contents[f"{command.replace(' ', '-') or 'ptxspec'}.json"]
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, registry=registry)


def strictly(text: str) -> Any:
    """The one JSON value that a text is. Raises ValueError for NaN and infinities, repeated keys and lone surrogates."""

    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({k for k, _ in pairs}) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    value = json.loads(text, parse_constant=no_number, object_pairs_hook=once)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def validated(command: str, text: str) -> Any:
    """What a command said, after it was held against the command's schema."""
    value = strictly(text)
    validator(command).validate(value)
    return value


def call(command: str, *words: str, status: int = 0, stdin: bytes | None = None) -> Any:
    """The result of a command, which must not end in a traceback."""
    result = CliRunner().invoke(main, [*command.split(), *words], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == status, result.output
    return result


def asked(command: str, *words: str, status: int = 0, stdin: bytes | None = None) -> Any:
    """The JSON that a command gives, validated."""
    return validated(command, call(command, *words, "--json", status=status, stdin=stdin).stdout)
