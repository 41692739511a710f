"""The term language: what definitions are written in, and its three interpretations.

Pages import everything from here: `from ptxspec.terms import *` is never needed, `from ptxspec.terms import instruction,
of, select` is the way. The interpretations are in `exact`, `native` and `symbolic`; importing this package loads none of them.
"""

from ptxspec.terms import definitions as _definitions
from ptxspec.terms.core import Bool, Int, TermError
from ptxspec.terms.definitions import (
    address,
    available,
    b8,
    b16,
    b32,
    b64,
    branch,
    f16,
    f32,
    f64,
    function_name,
    immediate_u8,
    instruction,
    label,
    leave,
    load,
    of,
    pred,
    reads_special_registers,
    s8,
    s16,
    s32,
    s64,
    store,
    takes_wider_registers,
    u8,
    u16,
    u32,
    u64,
    variable_address,
    vector,
    wait_at_barrier,
)
from ptxspec.terms.machine import rule, special_register
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import (
    absolute,
    as_type,
    bit,
    bit_length,
    clamp,
    concatenate,
    count_ones,
    is_set,
    join,
    low_bits,
    machine_specific,
    maximum,
    minimum,
    number,
    quotient,
    remainder,
    saturate,
    select,
    shortcut,
    sign_extend,
    undefined,
    unspecified,
)

del _definitions
__all__ = [name for name in dir() if not name.startswith("_")]
