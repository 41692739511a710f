"""The server: what an editor asks, and what it is told. Documents are kept here as the editor's changes make them; the
answers come from `document.py` and what stands beside it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from ptxspec import __version__
from ptxspec.editor import protocol
from ptxspec.editor.completion import complete
from ptxspec.editor.document import OpenDocument
from ptxspec.editor.hover import hover
from ptxspec.editor.names import Symbol
from ptxspec.editor.pages import Links, opcode_text
from ptxspec.editor.renaming import Refused, renamed, renamed_part
from ptxspec.editor.signatures import signatures
from ptxspec.editor.text import EncodedText
from ptxspec.editor.tokens import KINDS, tokens
from ptxspec.language.diagnostics import PtxError
from ptxspec.language.formatting import changes

#: seconds without a change before a document is checked
QUIET = 0.05
#: characters of a document from which on it is checked when nothing was changed for longer
LARGE, QUIET_LARGE = 1_000_000, 1.0
#: so many words are offered at once
MOST_OFFERED = 1000


class Protocol(LanguageServerProtocol):
    """Without the documents that pygls keeps: it counts a form feed as the end of a line, which the protocol does not."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class Server(LanguageServer):
    """A language server for PTX. `site` is the address of a built site, "" for none: links then lead to the documents."""

    def __init__(self, site: str = ""):
        super().__init__("ptxspec", __version__, protocol_cls=Protocol)
        self.links = Links(site)
        self.documents: dict[str, OpenDocument] = {}
        self.versions: dict[str, int] = {}
        self.ended_rightly = False
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        for name, handler in _HANDLERS:
            self.feature(name, _OPTIONS.get(name))(handler)

    # documents -----------------------------------------------------------------------------------------------------------

    def put(self, uri: str, text: str, version: int) -> None:
        encoding = getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding)
        self.documents[uri] = OpenDocument(EncodedText(text, str(encoding or "utf-16")), _name(uri))
        self.versions[uri] = version
        self.check_soon(uri)

    def drop(self, uri: str) -> None:
        self.documents.pop(uri, None)
        self.versions.pop(uri, None)
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Say on the standard error what went wrong. The editor has been answered, and its user need not be told."""
        print(f"ptxspec lsp: {type(error).__name__}: {error}", file=sys.stderr)

    def check_soon(self, uri: str) -> None:
        """Check a document when nothing has changed for a moment."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        quiet = QUIET_LARGE if len(self.documents[uri].text.text) > LARGE else QUIET
        self._waiting[uri] = asyncio.get_running_loop().call_later(quiet, self._check, uri)

    def _check(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        document = self.documents.get(uri)
        if document is None:
            return
        diagnostics = [protocol.diagnostic(document, problem, self.links) for problem in document.problems]
        params = lsp.PublishDiagnosticsParams(uri, diagnostics, version=self.versions[uri])
        self.text_document_publish_diagnostics(params)

    def at(self, params: Any) -> tuple[OpenDocument, int] | None:
        """The document of a request, and the offset; None for a document that is not open."""
        document = self.documents.get(params.text_document.uri)
        return None if document is None else (document, protocol.offset_of(document.text, params.position))


def _name(uri: str) -> str:
    """What messages call a document."""
    return uri.rpartition("/")[2] or uri


# handlers ------------------------------------------------------------------------------------------------------------------


def on_initialize(server: Server, params: lsp.InitializeParams) -> None:
    """Take the site's address from the options, if they have it."""
    options = params.initialization_options
    site = options.get("site") if isinstance(options, dict) else getattr(options, "site", None)
    if isinstance(site, str) and site:
        server.links = Links(site.rstrip("/") + "/")


def on_initialized(server: Server, params: lsp.InitializedParams) -> None:
    """Load what the first request would wait for."""
    from ptxspec.language.forms import registry
    from ptxspec.language.specials import special_registers

    registry()
    special_registers()


def on_shutdown(server: Server, params: None) -> None:
    server.ended_rightly = True


def on_open(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    server.put(params.text_document.uri, params.text_document.text, params.text_document.version)


def on_change(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    """Change a document. Positions of each change are those of the text after the ones before it."""
    uri = params.text_document.uri
    if uri not in server.documents:
        return
    text = server.documents[uri].text
    for change in params.content_changes:
        place = getattr(change, "range", None)
        if place is None:
            text = EncodedText(change.text, text.encoding)
        else:
            start, end = protocol.offset_of(text, place.start), protocol.offset_of(text, place.end)
            text = text.changed(start, end, change.text)
    server.put(uri, text.text, params.text_document.version)


def on_close(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    server.drop(params.text_document.uri)


def on_hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    where = server.at(params)
    shown = None if where is None else hover(*where, server.links)
    if where is None or shown is None:
        return None
    text = lsp.MarkupContent(lsp.MarkupKind.Markdown, shown.text)
    return lsp.Hover(text, protocol.range_of(where[0].text, shown.start, shown.end))


def on_completion(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    where = server.at(params)
    if where is None:
        return lsp.CompletionList(False, [])
    matches = complete(*where)
    items = [protocol.item(where[0], offered, n, where[1]) for n, offered in enumerate(matches[:MOST_OFFERED])]
    return lsp.CompletionList(len(matches) > MOST_OFFERED, items)


def on_resolve(server: Server, item: lsp.CompletionItem) -> lsp.CompletionItem:
    """Say more of an opcode that was offered."""
    if item.kind == lsp.CompletionItemKind.Function:
        text = opcode_text(item.label, server.links)
        item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, text) if text else None
    return item


def on_signature_help(server: Server, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    where = server.at(params)
    help = None if where is None else signatures(*where)
    if help is None:
        return None
    shown = [
        lsp.SignatureInformation(
            signature.text, signature.about, [lsp.ParameterInformation(place) for place in signature.operands]
        )
        for signature in help.alternatives
    ]
    fitting = (i for i, signature in enumerate(help.alternatives) if help.operand < len(signature.operands))
    return lsp.SignatureHelp(shown, next(fitting, 0), help.operand)


def _symbol_at(server: Server, params: Any) -> tuple[OpenDocument, Symbol] | None:
    """What the name at the cursor stands for."""
    where = server.at(params)
    word = None if where is None else where[0].word_at(where[1])
    if where is None or word is None or not where[0].names.is_name(word):
        return None
    symbol = where[0].names.resolve(where[0].split.words[word], word)
    return None if symbol is None else (where[0], symbol)


def _ranges(document: OpenDocument, words: list[int]) -> list[lsp.Range]:
    return [protocol.range_of(document.text, document.split.starts[w], document.end_of(w)) for w in words]


def on_definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    target = _symbol_at(server, params)
    if target is None:
        return None
    return lsp.Location(params.text_document.uri, _ranges(target[0], [target[1].word])[0])


def on_references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    target = _symbol_at(server, params)
    if target is None:
        return []
    document, symbol = target
    declared = params.context.include_declaration
    words = [word for word in document.names.references(symbol) if declared or word != symbol.word]
    return [lsp.Location(params.text_document.uri, place) for place in _ranges(document, words)]


def on_highlight(server: Server, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    target = _symbol_at(server, params)
    if target is None:
        return []
    document, symbol = target
    return [lsp.DocumentHighlight(place) for place in _ranges(document, document.names.references(symbol))]


def on_prepare_rename(server: Server, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
    where = server.at(params)
    word = None if where is None else where[0].word_at(where[1])
    part = None if where is None or word is None else renamed_part(where[0], word)
    if where is None or part is None:
        return None
    symbol, start, end = part
    return lsp.PrepareRenamePlaceholder(protocol.range_of(where[0].text, start, end), symbol.name)


def on_rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    target = _symbol_at(server, params)
    if target is None:
        return None
    document, symbol = target
    try:
        made = renamed(document, symbol, params.new_name)
    except Refused as why:
        raise JsonRpcInvalidParams(str(why)) from None
    edits = [lsp.TextEdit(protocol.range_of(document.text, start, end), new) for start, end, new in made]
    return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})


def on_symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = server.documents.get(params.text_document.uri)
    return [] if document is None else protocol.symbols(document)


def on_tokens(server: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    document = server.documents.get(params.text_document.uri)
    return lsp.SemanticTokens([] if document is None else tokens(document))


def on_formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    """Lay out a document. One that cannot be read stays as it is."""
    document = server.documents.get(params.text_document.uri)
    return None if document is None else _edits(document, 0, len(document.text.text))


def on_range_formatting(server: Server, params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit] | None:
    document = server.documents.get(params.text_document.uri)
    if document is None:
        return None
    start, end = (protocol.offset_of(document.text, place) for place in (params.range.start, params.range.end))
    return _edits(document, start, end)


def _edits(document: OpenDocument, start: int, end: int) -> list[lsp.TextEdit] | None:
    """What is to be changed between two offsets: all blanks between words that do not lie outside."""
    try:
        made = changes(document.text.text, document.path)
    except PtxError:
        return None
    within = [change for change in made if change.end >= start and change.start <= end]
    return [lsp.TextEdit(protocol.range_of(document.text, c.start, c.end), c.text) for c in within]


_HANDLERS: list[tuple[str, Callable[..., Any]]] = [
    (lsp.INITIALIZE, on_initialize),
    (lsp.INITIALIZED, on_initialized),
    (lsp.SHUTDOWN, on_shutdown),
    (lsp.TEXT_DOCUMENT_DID_OPEN, on_open),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, on_change),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, on_close),
    (lsp.TEXT_DOCUMENT_HOVER, on_hover),
    (lsp.TEXT_DOCUMENT_COMPLETION, on_completion),
    (lsp.COMPLETION_ITEM_RESOLVE, on_resolve),
    (lsp.TEXT_DOCUMENT_SIGNATURE_HELP, on_signature_help),
    (lsp.TEXT_DOCUMENT_DEFINITION, on_definition),
    (lsp.TEXT_DOCUMENT_REFERENCES, on_references),
    (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, on_highlight),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, on_prepare_rename),
    (lsp.TEXT_DOCUMENT_RENAME, on_rename),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, on_symbols),
    (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, on_tokens),
    (lsp.TEXT_DOCUMENT_FORMATTING, on_formatting),
    (lsp.TEXT_DOCUMENT_RANGE_FORMATTING, on_range_formatting),
]
_OPTIONS: dict[str, Any] = {
    lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(trigger_characters=[".", "%", "@", "$"], resolve_provider=True),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: lsp.SignatureHelpOptions(trigger_characters=[" ", ","]),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: lsp.SemanticTokensLegend(KINDS, []),
    lsp.TEXT_DOCUMENT_RENAME: lsp.RenameOptions(prepare_provider=True),
}
