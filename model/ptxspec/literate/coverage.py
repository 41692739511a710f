"""A coverage.py plugin: measures the documents' Python and reports it under the documents' lines."""

from __future__ import annotations

from pathlib import Path

import coverage
from coverage import CoveragePlugin, FileTracer
from coverage.python import PythonFileReporter

from ptxspec.literate.documents import blanked, parse


class _Tracer(FileTracer):
    def __init__(self, path: str):
        self.path = path

    def source_filename(self) -> str:
        return self.path


class _Reporter(PythonFileReporter):
    """Coverage's own reporter for Python, reading a document's blanked text."""

    def source(self) -> str:
        text = Path(self.filename).read_text("utf-8")
        return blanked(text, parse(text, self.filename))


class DocumentCoverage(CoveragePlugin):
    """Claims every code object that was compiled under a document's name."""

    def file_tracer(self, filename: str):
        return _Tracer(filename) if filename.endswith(".md") else None

    def file_reporter(self, filename: str):
        return _Reporter(filename, self._coverage) if filename.endswith(".md") else "python"

    def find_executable_files(self, src_dir: str):
        for path in Path(src_dir).rglob("*.md"):
            if parse(path.read_text("utf-8"), path).of("python"):
                yield str(path)

    _coverage: coverage.Coverage | None = None


def coverage_init(reg, options) -> None:
    plugin = DocumentCoverage()
    plugin._coverage = coverage.Coverage.current()
    reg.add_file_tracer(plugin)
