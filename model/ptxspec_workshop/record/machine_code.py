"""Machine code of modules, by NVIDIA's assembler."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ptxspec.evidence import assembler
from ptxspec_workshop.record.refusals import assembler_for

#: how the assembler is asked: without rewriting a program, and with all that it may do
LEVELS = ("-O0", "-O3")

T = TypeVar("T")


def assemble(text: str, level: str) -> bytes:
    """A module's machine code for sm_90, or for sm_90a if it says so."""
    head = re.match(r"\.version (\d\.\d)\s+\.target (\w+)", text)
    by, arch = assembler_for(*head.groups()) if head else (assembler.ptxas(), "sm_90")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(text)
        subprocess.run([by, f"-arch={arch}", "-w", level, str(source), "-o", str(target)], check=True)
        return target.read_bytes()


def assembled_modules(chunks: Iterable[T], text: Callable[[T], str]) -> Iterator[tuple[T, dict[str, bytes]]]:
    """Each chunk with the machine code of its module at both levels; as many assemblers run as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting: deque[tuple[T, dict[str, Future[bytes]]]] = deque()
        for chunk in chunks:
            module_text = text(chunk)
            waiting.append((chunk, {o: pool.submit(assemble, module_text, o) for o in LEVELS}))
            if len(waiting) > (os.cpu_count() or 1):
                done, code = waiting.popleft()
                yield done, {o: f.result() for o, f in code.items()}
        for done, code in waiting:
            yield done, {o: f.result() for o, f in code.items()}
