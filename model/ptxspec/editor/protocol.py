"""What the server answers in the words of the Language Server Protocol: places, ranges and kinds."""

from __future__ import annotations

from lsprotocol import types as lsp

from ptxspec.editor.completion import Item, Of
from ptxspec.editor.document import OpenDocument, Problem
from ptxspec.editor.hover import LONGEST
from ptxspec.editor.names import ENTRY, FUNCTION, LABEL, PARAMETER, REGISTER, TABLE, VARIABLE, Symbol
from ptxspec.editor.pages import Links
from ptxspec.editor.text import EncodedText
from ptxspec.language.outline import RunKind
from ptxspec.pages.anchors import page_address

ITEM_KINDS = {
    Of.OPCODE: lsp.CompletionItemKind.Function,
    Of.MODIFIER: lsp.CompletionItemKind.EnumMember,
    Of.TYPE: lsp.CompletionItemKind.TypeParameter,
    Of.DIRECTIVE: lsp.CompletionItemKind.Keyword,
    Of.REGISTER: lsp.CompletionItemKind.Variable,
    Of.VARIABLE: lsp.CompletionItemKind.Field,
    Of.LABEL: lsp.CompletionItemKind.Reference,
    Of.FUNCTION: lsp.CompletionItemKind.Module,
    Of.VALUE: lsp.CompletionItemKind.Constant,
}
SYMBOL_KINDS = {
    ENTRY: lsp.SymbolKind.Function,
    FUNCTION: lsp.SymbolKind.Function,
    LABEL: lsp.SymbolKind.Key,
    TABLE: lsp.SymbolKind.Array,
    REGISTER: lsp.SymbolKind.Variable,
    VARIABLE: lsp.SymbolKind.Field,
    PARAMETER: lsp.SymbolKind.TypeParameter,
}


def range_of(text: EncodedText, start: int, end: int) -> lsp.Range:
    """The characters from `start` to before `end`."""
    return lsp.Range(lsp.Position(*text.place(start)), lsp.Position(*text.place(end)))


def offset_of(text: EncodedText, position: lsp.Position) -> int:
    return text.offset(position.line, position.character)


def diagnostic(document: OpenDocument, problem: Problem, links: Links) -> lsp.Diagnostic:
    """A complaint as an error, a gap as a warning."""
    page, description = problem.page, None
    if page is not None and links.site:
        description = lsp.CodeDescription(links.site + page_address(page))
    return lsp.Diagnostic(
        range_of(document.text, problem.start, problem.end),
        problem.message,
        lsp.DiagnosticSeverity.Warning if problem.is_gap else lsp.DiagnosticSeverity.Error,
        code=page,
        code_description=description,
        source="ptxspec",
    )


def item(document: OpenDocument, completion: Item, number: int, offset: int) -> lsp.CompletionItem:
    """A word that is offered. It replaces what is written of it."""
    return lsp.CompletionItem(
        completion.word,
        kind=ITEM_KINDS[completion.of],
        detail=completion.detail or None,
        sort_text=f"{number:05}",
        filter_text=completion.word,
        text_edit=lsp.TextEdit(range_of(document.text, completion.start, offset), completion.word),
    )


def symbols(document: OpenDocument) -> list[lsp.DocumentSymbol]:
    """What is declared: entries and functions with what they declare, and the module's variables."""
    grouped: dict[int | None, list[Symbol]] = {}
    for symbol in document.names.symbols:
        grouped.setdefault(document.names.scopes[symbol.scope].function, []).append(symbol)
    outline = []
    for symbol in grouped.get(None, []):
        outlined = _symbol(document, symbol, _end(document, symbol))
        inner = grouped.get(symbol.word, []) if symbol.what in (ENTRY, FUNCTION) else []
        outlined.children = [_symbol(document, s, document.end_of(s.run.end - 1)) for s in inner]
        outline.append(outlined)
    return outline


def _symbol(document: OpenDocument, symbol: Symbol, end: int) -> lsp.DocumentSymbol:
    start = document.split.starts[symbol.run.first]
    name = range_of(document.text, document.split.starts[symbol.word], document.end_of(symbol.word))
    detail = symbol.qualifiers[:LONGEST] or symbol.what
    kind, whole = SYMBOL_KINDS[symbol.what], range_of(document.text, start, end)
    return lsp.DocumentSymbol(symbol.written, kind, whole, name, detail=detail)


def _end(document: OpenDocument, symbol: Symbol) -> int:
    """Where a declaration ends: with a body, behind its closing brace."""
    names = document.names
    at = names.run_at(symbol.word)
    end = names.runs[at].end
    if symbol.what in (ENTRY, FUNCTION):
        depth = 0
        for run in names.runs[at + 1 :]:
            if run.kind is RunKind.FUNCTION or (depth == 0 and run.kind is not RunKind.OPEN):
                break
            depth += (run.kind is RunKind.OPEN) - (run.kind is RunKind.CLOSE)
            end = run.end
            if depth == 0:
                break
    return document.end_of(end - 1)
