"""What of npm's a browser needs: Pyodide, which is Python compiled to WebAssembly, and a decoder for what is packed with xz."""

from __future__ import annotations

from ptxspec_workshop.site.trying.npm import Package

PYODIDE = Package(
    "pyodide",
    "314.0.7",
    "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
)
#: browsers decompress gzip by themselves, and xz needs a quarter less
DECODER = Package(
    "xz-decompress",
    "0.2.3",
    "sha512-O8v6HG8T0PrKBcpyWA13GkSYWFvncwzuzcLx5A7++l3HsE3atmoetXjIxrZ/JV/nbvSZ7WS4+3XvREZuVn+rEA==",
    ("dist/package/xz-decompress.min.js",),
)
