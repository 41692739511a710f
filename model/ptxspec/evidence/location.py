"""Where the recorded answers lie: in the checkout, or in the package `ptxspec-vectors` that carries them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ptxspec.base.places import DOCUMENTS

PACKAGE = "ptxspec_vectors"
#: said where there are none
MISSING = "the recorded answers are not installed: pip install ./tests/vectors in a checkout of ptxspec, or work there"


def _folder() -> Path:
    checkout = DOCUMENTS / "tests" / "vectors"
    if not checkout.is_dir():
        package = importlib.util.find_spec(PACKAGE)
        for place in (package.submodule_search_locations or ()) if package is not None else ():
            return Path(place)
    return checkout


FOLDER = _folder()
