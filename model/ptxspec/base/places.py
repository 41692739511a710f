"""Where the documents lie."""

from __future__ import annotations

from pathlib import Path

_packaged = Path(__file__).resolve().parents[1] / "documents"
#: the folder that holds `spec/`, `proofs/` and `docs/disputes/`: inside the installed package, or the checkout
DOCUMENTS = _packaged if _packaged.is_dir() else Path(__file__).resolve().parents[3]
