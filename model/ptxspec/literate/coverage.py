"""A coverage.py plugin: measures the documents' Python and reports it under the documents' lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
from coverage import CoveragePlugin, FileTracer
from coverage.parser import PythonParser
from coverage.python import PythonFileReporter

from ptxspec.literate.documents import blanked, parse


class _DocumentTracer(FileTracer):
    def __init__(self, path: str):
        self.path = path

    def source_filename(self) -> str:
        return self.path


class _Reporter(PythonFileReporter):
    """Coverage's own reporter for Python, reading a document's blanked text."""

    def source(self) -> str:
        text = Path(self.filename).read_text("utf-8")
        return blanked(text, parse(text, self.filename))

    @property
    def parser(self) -> PythonParser:
        if self._parser is None:
            assert self.coverage is not None
            self._parser = PythonParser(text=self.source(), exclude=self.coverage._exclude_regex("exclude"))
            self._parser.parse_source()
        return self._parser


class DocumentCoverage(CoveragePlugin):
    """Claims every code object that was compiled under a document's name."""

    def file_tracer(self, filename: str) -> _DocumentTracer | None:
        return _DocumentTracer(filename) if filename.endswith(".md") else None

    def file_reporter(self, filename: str) -> _Reporter | str:
        if not filename.endswith(".md"):
            return "python"
        # the reporter asks a Coverage object which lines are excluded; while reporting none is current
        return _Reporter(filename, coverage.Coverage.current() or coverage.Coverage(data_file=None))

    def find_executable_files(self, src_dir: str) -> Iterator[str]:
        for path in Path(src_dir).rglob("*.md"):
            if parse(path.read_text("utf-8"), path).of("python"):
                yield str(path)


def coverage_init(reg: Any, options: object) -> None:
    reg.add_file_tracer(DocumentCoverage())
