"""Whatever is written in a document, and whatever an editor sends, the server goes on, and answers without an error of its own."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

import pytest
from talking import LONGEST, URI, Client, between, place

sys.path.append(str(Path(__file__).resolve().parents[1] / "language"))
from test_mutations import RICH, STRANGE

QUESTIONS = ("hover", "completion", "definition", "signatureHelp", "documentHighlight", "prepareRename")
OPTIONS = {"tabSize": 4, "insertSpaces": True}


def reference(text: str, start: tuple[int, int], end: tuple[int, int], new: str) -> str:
    """A text after a change, by way of UTF-16; lines end with a line feed alone here."""
    data = text.encode("utf-16-le", "surrogatepass")
    lines = [line.encode("utf-16-le", "surrogatepass") for line in text.split("\n")]

    def offset(place: tuple[int, int]) -> int:
        before = sum(len(line) + 2 for line in lines[: place[0]])
        return before + min(2 * place[1], len(lines[place[0]]))

    return (data[: offset(start)] + new.encode("utf-16-le") + data[offset(end) :]).decode("utf-16-le", "surrogatepass")


def units(line: str) -> int:
    return len(line.encode("utf-16-le")) // 2


def ask_everything(client: Client, rng: random.Random, lines: int) -> None:
    line, column = rng.randrange(lines + 2), rng.randrange(60)
    for question in rng.sample(QUESTIONS, 3):
        client.at(question, line, column)
    client.at("references", line, column, context={"includeDeclaration": True})
    client.reply(
        "textDocument/rename",
        {"textDocument": {"uri": URI}, "position": {"line": line, "character": column}, "newName": "%q"},
    )
    client.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    client.ask("textDocument/formatting", {"textDocument": {"uri": URI}, "options": OPTIONS})


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 12))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_edits(server: Client, seed: int) -> None:
    """Pieces of PTX and stranger ones go in and out anywhere; the server has the text that the edits make."""
    rng, client = random.Random(seed), server
    text = RICH.replace("\r", "").replace("a comment", "é 𝄞 a comment")
    client.open(text)
    pieces = [p for p in STRANGE if "\r" not in p] + [
        "𝄞",
        "é\n",
        "\n",
        "add.",
        "@%p1 ",
        "ld.global.",
        " %r1, ",
        "L:",
        "// 𝄞",
    ]
    for _ in range(12):
        lines = text.split("\n")
        first = rng.randrange(len(lines))
        last = min(first + rng.choice([0, 0, 0, 1, 3]), len(lines) - 1)
        start, end = (first, rng.randrange(units(lines[first]) + 1)), (last, rng.randrange(units(lines[last]) + 1))
        start, end = min(start, end), max(start, end)
        if any(0xDC00 <= ord(c) < 0xE000 for c in split_at(lines, start) + split_at(lines, end)):
            continue  # within a character
        new = rng.choice(pieces)
        text = reference(text, start, end, new)
        client.change({"range": between(start, end), "text": new})
        ask_everything(client, rng, len(lines))
    mine = client.diagnostics()
    client.open(text)
    assert client.diagnostics() == mine


def split_at(lines: list[str], place: tuple[int, int]) -> str:
    """The code unit at a place."""
    data = lines[place[0]].encode("utf-16-le")[2 * place[1] : 2 * place[1] + 2]
    return data.decode("utf-16-le", "surrogatepass")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bytes(server: Client, seed: int) -> None:
    """Of a document."""
    rng, client = random.Random(seed), server
    for _ in range(5):
        noise = "".join(
            chr(rng.choice([rng.randrange(128), rng.randrange(0x250), rng.randrange(0x10000, 0x10FFFF)]))
            for _ in range(200)
        )
        at = rng.randrange(len(RICH))
        client.open(rng.choice([noise, RICH[:at] + noise + RICH[at:], RICH[:at]]))
        ask_everything(client, rng, 20)
        client.diagnostics()


def test_what_is_no_message() -> None:
    """Lines without sense, bodies that are no JSON, requests that nobody knows, and questions about nothing."""
    client = Client()
    try:
        client.write(b"nonsense\r\n\xff\xfe\x00\r\n")
        for body in (
            b"{",
            b"[]",
            b"7",
            b'{"jsonrpc": "2.0"}',
            b'{"jsonrpc": "2.0", "method": 7}',
            b"\xff\xfe",
            b'{"jsonrpc": "2.0", "id": 9, "method": "textDocument/hover", "params": 3}',
        ):
            client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert client.reply("no/such/method", {})["error"]["code"] == -32601
        client.change({"text": "of a document that nobody opened"})
        client.change({"range": between((0, 0), (0, 1)), "text": ""}, uri="file:///other.ptx")
        client.open(".version 8.0\n.target sm_80\n")
        for line, column in ((10**9, 10**9), (1, 10**9), (0, 0)):
            assert client.at("hover", line, column) is None or (line, column) == (0, 0)
        client.tell("textDocument/hover", place(-1, 0))
        client.tell("textDocument/hover", place(0, -5))
        assert client.diagnostics() == []
        assert client.end() == 0
    finally:
        client.kill()


@pytest.mark.slow
@pytest.mark.parametrize("length", ["1" + "0" * 15, "9" * 5000, "-1", "1e3", "0x10", "", str(1 << 40), "7" * 100_000])
def test_a_length_that_no_message_has_is_answered_and_the_server_ends(length: str) -> None:
    client = Client()
    try:
        with contextlib.suppress(BrokenPipeError):  # it does not read on
            client.write(f"Content-Length: {length}\r\n\r\n{{}}".encode())
        message = client.next_message()
        assert message is not None and message["id"] is None and message["error"]["code"] == -32600
        assert "message" in message["error"]["message"] and len(message["error"]["message"]) < 200
        assert client.process.wait(LONGEST) == 2
    finally:
        client.kill()
