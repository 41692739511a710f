"""A kernel has operations that change memory of so many classes, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.machine import operations

REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
TEXT = f"""
.version 8.4 .target sm_90 .address_size 64
.visible .entry k(.param .u64 to) {{
.shared .align 16 .b8 s[16]; .reg .b64 out; ld.param.u64 out, [to];
{REDUCE}.add.u32 [out], [s], 16; {REDUCE}.max.u32 [out], [s], 16; {REDUCE}.add.u64 [out], [s], 16;
ret; }}"""


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_kernel_with_more_classes_is_refused(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: dict[str, Any] = {"args": [np.zeros(4, np.uint32)], "engine": engine, "step_limit": 100}
    monkeypatch.setattr(operations, "MOST_CLASSES", 1)
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(TEXT).launch("k", **launches)
    assert caught.value.rule == "classes of operations" and caught.value.page.startswith("spec/machine/limits.md")
    assert caught.value.note == "k has operations of 2 classes that change memory; 1 are the most"
