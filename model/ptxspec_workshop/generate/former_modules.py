"""In which modules forms are asked about, those among them that newer modules do not have."""

from __future__ import annotations

from ptxspec.evidence.kernels.instruction_kernels import (
    module_for,
)
from ptxspec.language.forms import Form

#: by the version and the target from which a form is gone: those of a module that has it
FORMER = {
    ((6, 4), 70): ("6.3", "sm_60"),
    ((6, 5), 10): ("6.4", "sm_70"),
    ((6, 3), 10): ("6.2", "sm_70"),
    ((3, 2), 20): ("3.0", "sm_13"),
    ((1, 4), 10): ("1.3", "sm_13"),
    ((1, 2), 10): ("1.1", "sm_10"),
}


def module_for_ptxas(form: Form) -> tuple[str, str]:
    """The version and the target of the module in which a form is asked about."""
    return module_for(form) if form.removal is None else FORMER[form.removal]
