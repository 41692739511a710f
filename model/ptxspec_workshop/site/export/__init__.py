"""The whole ISA as data: one JSON value, of which docs/reference/schemas/export.json says what it holds.

It is told from the definitions and the pages, never written by hand, and is the same bytes whenever these and the evidence
are the same. Nothing here needs Sphinx.
"""
