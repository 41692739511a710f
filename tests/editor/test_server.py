"""The language server as an editor meets it: a process that is asked by messages on its standard input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import URI, Client, applied, between, place

from ptxspec.editor.document import OpenDocument
from ptxspec.editor.hover import hover
from ptxspec.editor.pages import Links
from ptxspec.editor.text import EncodedText
from ptxspec.language.formatting import formatted

TEXT = """\
.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 d) twice(.reg .u32 a);
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<10>;  // é 𝄞
    .reg .pred %p1;
    .reg .b64 %rd<3>;
$loop:
    /* 𝄞𝄞 */ add.sat.s32 %r1, %r2, 1;
    mov.u32 %r3, %tid.x;
    @%p1 bra $loop;
    ld.param.u64 %rd1, [p];
    call (%r2), twice, (%r1);
    ret;
}
.func (.reg .u32 d) twice(.reg .u32 a) { add.u32 d, a, a; ret; }
"""
LINES = TEXT.split("\n")


def spot(line: int, piece: str) -> tuple[int, int]:
    """Where a piece of a line begins, in UTF-16 code units."""
    return line, len(LINES[line][: LINES[line].index(piece)].encode("utf-16-le")) // 2


@pytest.fixture(autouse=True)
def _text(server: Client) -> None:
    """The text is open."""
    if not server.has_open(URI, TEXT):
        server.open(TEXT)


def test_a_session() -> None:
    """Open with an error, mend it, close, shut down."""
    client = Client()
    try:
        assert client.greeting["serverInfo"]["name"] == "ptxspec"
        client.open(TEXT.replace("ret;\n}\n.func", "frob %r1;\n    bra nowhere;\n}\n.func"))
        found = client.diagnostics()
        assert [(d["range"], d["severity"], d["source"]) for d in found] == [
            (between((15, 4), (15, 8)), 1, "ptxspec"),
            (between((16, 8), (16, 15)), 1, "ptxspec"),
        ]
        assert "frob is no instruction" in found[0]["message"] and "nowhere" in found[1]["message"]
        client.change({"range": between((15, 4), (16, 16)), "text": "ret;"})
        assert client.diagnostics() == []
        assert client.at("hover", *spot(10, "add"))["contents"]["kind"] == "markdown"
        client.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert client.at("hover", 10, 20) is None and client.at("completion", 10, 20)["items"] == []
        assert client.end() == 0
    finally:
        client.kill()


def test_an_editor_that_does_not_shut_the_server_down() -> None:
    client = Client()
    try:
        client.tell("exit", None)
        assert client.process.wait(120) == 1
    finally:
        client.kill()


@pytest.mark.parametrize(
    ("line", "piece", "said"),
    [
        (10, "add", ["sum of two integers", "add.sat.s32 d, a, b;", "`d` .s32 (written)", "PTX ISA 1.0", "integer/add.html#add.sat.s32"]),
        (10, ".sat", ["`.sat`: a modifier of `add`", "https://ptx.example/spec/spec/instructions/integer/add.html"]),
        (10, ".s32", ["`.type` is one of `.u32`, `.s32`", "signed, 32 bits: "]),
        (10, "%r2", [".reg .b32 %r<10>", "a register of `k`, line 7"]),
        (11, "%tid", ["special register of type `.u32`", "`.x`", "special-registers/thread-coordinates.html"]),
        (12, "$loop", ["a label of `k`, line 10"]),
        (12, "%p1", [".reg .pred %p1"]),
        (13, "p]", [".param .u64 p", "a parameter of `k`", "unsigned, 64 bits"]),
        (14, "twice", [".func (.reg .u32 d) twice(.reg .u32 a)", "a function, line 4"]),
        (6, ".reg", ["registers; a state space"]),
        (6, ".b32", ["32 bits", "types/index.html"]),
        (4, ".entry", ["a function that a launch starts"]),
        (1, ".target", ["forms that require a later target are an error"]),
    ],
)  # fmt: skip
def test_hover(server: Client, line: int, piece: str, said: list[str]) -> None:
    found = server.at("hover", *spot(line, piece))
    for one in said:
        assert one in found["contents"]["value"]
    start, end = found["range"]["start"], found["range"]["end"]
    assert (start["line"], start["character"]) <= spot(line, piece) <= (end["line"], end["character"])


def test_hover_over_nothing(server: Client) -> None:
    for line, piece in ((6, "é"), (5, "{"), (10, "/*"), (10, "1;")):
        assert server.at("hover", *spot(line, piece)) is None


def labels(server: Client, line: int, character: int, uri: str = URI) -> list[str]:
    return [item["label"] for item in server.at("completion", line, character, uri)["items"]]


def test_completion_while_a_line_is_written(server: Client) -> None:
    """Each character is typed; the words that are offered follow the pages."""
    other = "file:///nowhere/typed.ptx"
    server.open(TEXT, other)
    at = 11
    server.change({"range": between((at, 0), (at, 0)), "text": "  \n"}, uri=other)
    seen: dict[str, list[str]] = {}
    written = "  @%p1 setp.lt.and.u32 %p1, %r1, %ti"
    for column, c in enumerate(written):
        server.change({"range": between((at, column), (at, column)), "text": c}, uri=other)
        seen[written[: column + 1]] = labels(server, at, column + 1, other)
    assert seen["  @"] == seen["  @%"] == ["%p1"]
    assert {"setp", "selp"} <= {*seen["  @%p1 s"]} and "selp" not in seen["  @%p1 set"]
    assert {".lt", ".eq", ".ltu"} <= set(seen["  @%p1 setp."]) and ".u32" not in seen["  @%p1 setp."]
    assert {".and", ".u32", ".f32", ".ftz"} <= set(seen["  @%p1 setp.lt."])
    assert ".ftz" not in seen["  @%p1 setp.lt.and.u"] and ".u32" in seen["  @%p1 setp.lt.and.u"]
    assert {"%r3", "%p1", "%rd2", "%tid.x"} <= set(seen[written[:-3]]) and "%tid.x" in seen[written]
    edit = server.at("completion", at, len(written), other)["items"][0]["textEdit"]
    assert edit["newText"] == "%tid.x" and edit["range"] == between((at, len(written) - 3), (at, len(written)))


@pytest.mark.parametrize(
    ("line", "piece", "there", "absent"),
    [
        (0, "8.0", ["8.0"], ["9.0", "sm_80"]),
        (6, "b32", [".b32", ".b64"], [".pred", "%r1"]),
        (12, "loop", ["$loop"], ["add"]),
        (7, ".reg", [".reg", ".loc", ".pragma"], [".entry", ".version"]),
        (4, ".visible", [".visible"], [".loc", "add"]),
    ],
)
def test_completion(server: Client, line: int, piece: str, there: list[str], absent: list[str]) -> None:
    row, column = spot(line, piece)
    found = labels(server, row, column + 1)
    assert set(there) <= set(found) and not set(absent) & set(found)


def test_nothing_is_offered_in_a_comment(server: Client) -> None:
    assert labels(server, *spot(6, "𝄞")) == [] and labels(server, *spot(10, "𝄞")) == []


def test_more_is_said_of_an_opcode_that_is_offered(server: Client) -> None:
    row, column = spot(10, "add")
    item = next(i for i in server.at("completion", row, column + 2)["items"] if i["label"] == "addc")
    assert "carry" in server.ask("completionItem/resolve", item)["documentation"]["value"]


def test_definition_references_and_highlights(server: Client) -> None:
    def declared(line: int, piece: str) -> Any:
        found = server.at("definition", *spot(line, piece))
        return None if found is None else (found["range"]["start"]["line"], found["range"]["start"]["character"])

    assert declared(12, "$loop") == (9, 0) and declared(12, "%p1") == spot(7, "%p1")
    assert declared(10, "%r2") == spot(6, "%r<") and declared(13, "p]") == spot(4, "p)")
    assert declared(14, "twice") == spot(3, "twice") and declared(11, "%tid") is None
    whole = server.at("references", *spot(10, "%r1"), context={"includeDeclaration": True})
    rest = server.at("references", *spot(10, "%r1"), context={"includeDeclaration": False})
    assert len(whole) == 6 and len(rest) == 5
    assert [h["range"] for h in server.at("documentHighlight", *spot(10, "%r1"))] == [w["range"] for w in whole]


def test_rename(server: Client) -> None:
    part = server.at("prepareRename", *spot(10, "%r2"))
    assert part["placeholder"] == "%r" and part["range"] == between(spot(10, "%r2"), (10, spot(10, "%r2")[1] + 2))
    edits = server.at("rename", *spot(10, "%r2"), newName="%word")["changes"][URI]
    renamed = applied(TEXT, edits)
    assert renamed == TEXT.replace("%r<", "%word<").replace("%r1", "%word1").replace("%r2", "%word2").replace(
        "%r3", "%word3"
    )
    for name, why in (
        ("%tid", "special register"),
        ("1x", "is no name"),
        ("%rd", "declared already"),
        ("p", None),
        ("k9", "digit"),
    ):
        answer = server.reply("textDocument/rename", {**place(*spot(10, "%r2")), "newName": name})
        assert (why in answer["error"]["message"]) if why else ("error" in answer or answer["result"])
    assert server.at("prepareRename", *spot(11, "%tid")) is None


def test_signature_help(server: Client) -> None:
    found = server.at("signatureHelp", *spot(10, "%r2"))
    assert found["signatures"][0]["label"] == "add.sat.s32 d, a, b" and found["activeParameter"] == 1
    first, end = found["signatures"][0]["parameters"][1]["label"]
    assert "add.sat.s32 d, a, b"[first:end] == "a"
    assert server.at("signatureHelp", *spot(10, "add")) is None


def test_symbols(server: Client) -> None:
    found = server.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert [one["name"] for one in found] == ["twice", "k", "twice"]
    assert [one["name"] for one in found[1]["children"]] == ["p", "%r<10>", "%p1", "%rd<3>", "$loop"]
    assert found[1]["range"] == between((4, 0), (16, 1))
    for one in found:
        for inner in one["children"]:
            assert one["range"]["start"]["line"] <= inner["range"]["start"]["line"] <= one["range"]["end"]["line"]


def test_formatting(server: Client) -> None:
    options = {"tabSize": 4, "insertSpaces": True}
    edits = server.ask("textDocument/formatting", {"textDocument": {"uri": URI}, "options": options})
    assert applied(TEXT, edits) == formatted(TEXT) != TEXT
    range_ = between((4, 0), (4, 30))
    some = server.ask(
        "textDocument/rangeFormatting", {"textDocument": {"uri": URI}, "range": range_, "options": options}
    )
    laid_out = applied(TEXT, some).split("\n")
    assert laid_out[:3] == LINES[:3] and ".visible .entry k(" in laid_out and laid_out[-2] == LINES[-2]


def test_what_cannot_be_read_is_not_laid_out(server: Client) -> None:
    other = "file:///nowhere/unread.ptx"
    server.open(TEXT.replace("add.u32 d", "add.u32 ,d"), other)
    options = {"tabSize": 4, "insertSpaces": True}
    assert server.ask("textDocument/formatting", {"textDocument": {"uri": other}, "options": options}) is None


def test_the_editor_says_how_characters_count(server: Client) -> None:
    """In the comment before `add` stand two characters outside of the basic plane."""
    assert server.greeting["capabilities"]["positionEncoding"] == "utf-16"
    client = Client(capabilities={"general": {"positionEncodings": ["utf-8", "utf-16"]}})
    try:
        assert client.greeting["capabilities"]["positionEncoding"] == "utf-8"
        client.open(TEXT)
        for one, units in ((server, 2), (client, 6)):  # more than a character each, for both together
            column = LINES[10].index("add") + units
            assert one.at("hover", 10, column)["range"]["start"]["character"] == column
    finally:
        client.kill()


def test_changes_count_utf_16_code_units(server: Client) -> None:
    """Several changes in one message, each of the text after the one before; lines end as the protocol says, and nowhere else."""
    other = "file:///nowhere/units.ptx"
    text = ".version 8.0\n.target sm_80\r\n.entry k() { // 𝄞\x0c\u2028 é\n ret; }\n"
    server.open(text, other)
    assert server.diagnostics(other) == []
    server.change(
        {"range": between((2, 15), (2, 17)), "text": "𝄞é"},  # the character of two units
        {"range": between((2, 18), (2, 18)), "text": "x"},
        {"range": between((3, 1), (3, 4)), "text": "reti"},
        uri=other,
    )
    (found,) = server.diagnostics(other)
    assert found["range"] == between((3, 1), (3, 5)) and "reti" in found["message"]
    server.change({"range": between((3, 1), (3, 5)), "text": "ret"}, {"text": text}, uri=other)
    assert server.diagnostics(other) == []


def test_links_lead_to_the_documents_without_a_site() -> None:
    found = hover(OpenDocument(EncodedText(TEXT), "k.ptx"), TEXT.index("add.sat"), Links())
    assert found is not None and "](file:///" in found.text and "spec/instructions/integer/add.md#L" in found.text


def test_words_have_colours(server: Client) -> None:
    """The words that the tokens mark, by their kinds."""
    legend = server.greeting["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
    data = server.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": URI}})["data"]
    found: dict[str, set[str]] = {}
    line = column = 0
    for i in range(0, len(data), 5):
        down, right, length, kind, _ = data[i : i + 5]
        line, column = line + down, right + (0 if down else column)
        units = LINES[line].encode("utf-16-le")[2 * column : 2 * (column + length)]
        found.setdefault(legend[kind], set()).add(units.decode("utf-16-le"))
    assert found["function"] == {"add", "mov", "bra", "ld", "call", "ret", "twice", "k"}
    assert found["property"] == {".sat.s32", ".u32", ".param.u64"} and found["macro"] == {"%tid.x"}
    assert found["comment"] == {"// é 𝄞", "/* 𝄞𝄞 */"} and found["event"] == {"$loop"} and "%r1" in found["variable"]
    assert found["type"] >= {".b32", ".pred"} and found["keyword"] >= {".version", ".reg"} and "8.0" in found["number"]


def test_gaps_are_warnings_and_errors_lead_to_pages(server: Client) -> None:
    other = "file:///nowhere/other.ptx"
    heading = ".version 8.6\n.target sm_100a\n"
    server.open(f"{heading}.entry k() {{ tcgen05.fence::before_thread_sync; ret; }}\n", other)
    (gap,) = server.diagnostics(other)
    assert (
        gap["severity"] == 2
        and "no page describes it" in gap["message"]
        and gap["range"]["start"] == {"line": 2, "character": 13}
    )
    server.open(f"{heading}.entry k() {{ bfe.u32; }}\n", other)
    (error,) = server.diagnostics(other)
    assert error["code"] == "spec/instructions/integer/bfe.md"
    assert error["codeDescription"]["href"] == "https://ptx.example/spec/spec/instructions/integer/bfe.html"


def test_the_answers_are_json_alone(server: Client) -> None:
    """A text with what UTF-8 does not have is a text like another."""
    other = "file:///nowhere/lone.ptx"
    server.open(".version 8.0 .target sm_80 // \ud800\n.entry k() { frob\udfff; }", other)
    assert json.dumps(server.diagnostics(other))
