"""A language server for PTX: what editors ask while a module is written, answered by the pages and the checker."""
