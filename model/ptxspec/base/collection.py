"""Python's collector of cycles, while many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No collection meanwhile: it would look again and again through what has been made, and find nothing. At the end all of it
    is old at once, but after an exception, when it is garbage. What was there before has been looked through at the beginning,
    so that no other garbage becomes old. What is made should not be in cycles, or it stays until all that is old is looked
    through."""
    if not gc.isenabled():
        yield
        return
    gc.collect(1)
    gc.disable()
    try:
        yield
        if not gc.get_freeze_count():  # else what somebody has frozen would thaw
            gc.freeze()
            gc.unfreeze()
    finally:
        gc.enable()
