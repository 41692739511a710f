"""The input of the server. No message is taken that is longer than any document: what its length is said to be decides how much
memory is asked for."""

from __future__ import annotations

import json
import re
from typing import BinaryIO

#: bytes of a message, and of a line before it
MOST, MOST_OF_LINE = 1 << 28, 1 << 13
_LENGTH = re.compile(rb"\s*content-length\s*:\s*(.*)", re.I | re.S)
#: an invalid request, by JSON-RPC
_INVALID = -32600


class Messages:
    """What the server reads: a stream up to the first message that is refused. `refused` says in words which that was. Nothing
    after it can be read, since nobody knows where it begins."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self.refused = ""

    def readline(self, limit: int = -1, /) -> bytes:
        """A line before a message; none once one is refused."""
        if self.refused:
            return b""
        line = self._stream.readline(MOST_OF_LINE)
        length = _LENGTH.fullmatch(line)
        if len(line) == MOST_OF_LINE:
            self.refused = f"a line before a message has more than {MOST_OF_LINE} bytes"
        elif length is not None:
            digits = length[1].strip()
            if not re.fullmatch(rb"[0-9]+", digits):
                self.refused = f"a message of {_shown(digits)} bytes: the length is a number"
            elif len(digits.lstrip(b"0")) > 12 or int(digits) > MOST:
                self.refused = f"a message of {_shown(digits)} bytes: one has at most {MOST >> 20} MiB"
        return b"" if self.refused else line

    def read(self, count: int = -1, /) -> bytes:
        """A message."""
        return b"" if self.refused else self._stream.read(count)


def put_message(output: BinaryIO, refused: str) -> None:
    """Answer that a message is refused."""
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID, "message": refused}}).encode()
    try:
        output.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        output.flush()
    except (OSError, ValueError):
        pass  # nobody reads


def _shown(line: bytes) -> str:
    text = line.decode("ascii", "backslashreplace")
    return text if len(text) <= 30 else f"{text[:20]}… ({len(text)} digits)"
