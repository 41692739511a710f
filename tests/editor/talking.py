"""A client of the language server, as an editor is one: messages on the standard input and output of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: an answer that takes longer will not come: other processes may be at work
LONGEST = 120.0
URI = "file:///nowhere/k.ptx"


class Client:
    """A server, and what it has said that nobody asked for."""

    def __init__(self, *words: str, capabilities: dict[str, Any] | None = None, options: Any = None):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "model")}
        command = [sys.executable, "-m", "ptxspec", "lsp", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env)
        self.asked = 0
        self.version = 0
        self._open: dict[str, str] = {}
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self.told: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.greeting = self.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": capabilities or {}, "initializationOptions": options},
        )
        self.tell("initialized", {})

    def _listen(self) -> None:
        """Read all that the server writes: nothing but messages."""
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def write(self, data: bytes) -> None:
        stream = self.process.stdin
        assert stream is not None
        stream.write(data)
        stream.flush()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def reply(self, method: str, params: Any) -> dict[str, Any]:
        """The answer to a request, with its `result` or its `error`."""
        self.asked += 1
        self._send({"id": self.asked, "method": method, "params": params})
        while True:
            message = self._messages.get(timeout=LONGEST)
            assert message is not None, "the server has ended"
            if message.get("id") == self.asked:
                return message
            self.told.append(message)

    def next_message(self) -> dict[str, Any] | None:
        """What the server says next; None at its end."""
        return self._messages.get(timeout=LONGEST)

    def ask(self, method: str, params: Any) -> Any:
        answer = self.reply(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    # documents -----------------------------------------------------------------------------------------------------------

    def open(self, text: str, uri: str = URI) -> None:
        self.version += 1
        self._open[uri] = text
        item = {"uri": uri, "languageId": "ptx", "version": self.version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def has_open(self, uri: str, text: str) -> bool:
        """Whether a document was opened with this text, and not changed."""
        return self._open.get(uri) == text

    def change(self, *changes: dict[str, Any], uri: str = URI) -> None:
        self.version += 1
        self._open.pop(uri, None)
        document = {"uri": uri, "version": self.version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def at(self, method: str, line: int, character: int, uri: str = URI, **more: Any) -> Any:
        """The answer to a question about a place."""
        return self.ask(f"textDocument/{method}", {**place(line, character, uri), **more})

    def diagnostics(self, uri: str = URI) -> list[dict[str, Any]]:
        """What is wrong with the newest version of a document: waited for."""
        while True:
            for message in self.told:
                params = message.get("params") or {}
                if message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri:
                    if params.get("version") == self.version:
                        self.told.clear()
                        found: list[dict[str, Any]] = params["diagnostics"]
                        return found
            message = self._messages.get(timeout=LONGEST)
            assert message is not None, "the server has ended"
            self.told.append(message)

    def end(self) -> int:
        """Shut the server down. Returns its exit status."""
        assert self.ask("shutdown", None) is None
        self.tell("exit", None)
        return self.process.wait(LONGEST)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:
                pass  # what was not written any more


def place(line: int, character: int, uri: str = URI) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def between(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {"start": dict(zip(("line", "character"), start, strict=True)),
            "end": dict(zip(("line", "character"), end, strict=True))}  # fmt: skip


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits whose ranges count UTF-16 code units, by a way of its own: through the bytes of UTF-16."""
    data = text.encode("utf-16-le")
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len((line + "\n").encode("utf-16-le")))

    def offset(position: dict[str, int]) -> int:
        return min(starts[position["line"]] + 2 * position["character"], len(data))

    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        data = data[:start] + edit["newText"].encode("utf-16-le") + data[end:]
    return data.decode("utf-16-le")
