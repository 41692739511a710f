"""What compiled code asks Python for: the nearest number that an approximate result may be.

Single precision is quick where it can be: a function of double precision, whose error is far below the margin kept here, says the
nearest number wherever no middle between two numbers lies within the margin. Everything else is computed with fractions, by the
page, once for each operand.
"""

from __future__ import annotations

import _thread
import ctypes
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ptxspec.terms.exact import NoChoice
from ptxspec.terms.vocabulary import Approximation

#: how far the exact number may be from that of double precision, relative to it: thousands of times what libraries are off by
MARGIN = 2.0**-40
#: results that are kept for each function
KEPT = 1 << 16
#: the functions of the host's library, by the names that pages have for them
_LIBRARY = {"sine": "sin", "cosine": "cos", "power of two": "exp2", "logarithm": "log2", "hyperbolic tangent": "tanh"}
#: the one that the processor has itself: LLVM text that makes %y of %x
_OPERATIONS = {
    "reciprocal root": "  %root = call double @llvm.sqrt.f64(double %x)\n  %y = fdiv double 1.0, %root",
}
#: by the name of a symbol, the function for LLVM to call, kept for as long as code may call it
_SYMBOLS: dict[str, Any] = {}


def nearest(emitter: Any, term: Any, lowering: Any) -> str:
    """Let an Emitter append what gives the bits of the nearest number that a freedom may be. Raises NoChoice for
    operands of more than 64 bits."""
    slug, width, _, type, approximation, *_ = term.attrs
    if any(max(a.hi, ~a.lo).bit_length() > 64 for a in term.args):
        raise NoChoice(term)
    signed = tuple(a.lo < 0 for a in term.args)
    slow = _symbol_of(slug, type.name, approximation, signed)
    operands = [f"i64 {lowering.low(a, 64)}" for a in term.args]
    name = slow
    emitter.needs.add(f"declare i64 @{slow}({', '.join(['i64'] * len(signed))}) {PURE}")
    if approximation.quick is not None and type.name == "f32":
        name = f"{slow}_quick"
        emitter.needs.update(_quick(name, slow, approximation.quick, len(signed)))
    result: str = emitter.emit(f"call i64 @{name}({', '.join(operands)})")
    return str(emitter.truncate(result, 64, width)) if width < 64 else result


#: nothing is changed by a call, so that LLVM may leave out one whose result nobody needs
PURE = "nounwind willreturn readnone"


def _symbol_of(slug: str, type: str, approximation: Approximation, signed: tuple[bool, ...]) -> str:
    """The symbol by which compiled code calls the page's function."""
    rule = approximation.nearest
    made_of = f"{slug} {type} {rule.__module__} {rule.__qualname__} {signed}"
    name = f"ptxspec_nearest_{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    return symbol_of(name, rule, [ctypes.c_int64 if s else ctypes.c_uint64 for s in signed])


def symbol_of(name: str, rule: Callable[..., int], operands: Sequence[Any]) -> str:
    """The name, by which compiled code may now call a function that has it alone, with operands of these types of C."""
    if name not in _SYMBOLS:
        _SYMBOLS[name] = ctypes.CFUNCTYPE(ctypes.c_uint64, *operands)(_remembered(rule))
        _known_to_llvm(name, _SYMBOLS[name])
    return name


def _remembered(rule: Callable[..., int]) -> Callable[..., int]:
    """The page's function for compiled code, which asks before it looks whether a result is needed: where the number does not
    exist, as the reciprocal of a zero, anything will do."""
    known: dict[tuple[float, ...], int] = {}

    def answer(*operands: float) -> int:
        result = known.get(operands)
        if result is None:
            try:
                result = int(rule(*operands))
            except (ArithmeticError, ValueError):
                result = 0
            except KeyboardInterrupt:  # C has no exceptions: it is raised again as soon as compiled code has returned
                _thread.interrupt_main()
                return 0
            if len(known) >= KEPT:
                known.clear()
            known[operands] = result
        return result

    return answer


def _known_to_llvm(name: str, function: Any) -> None:
    import llvmlite.binding as llvm

    llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


@cache
def _library() -> dict[str, str]:
    """The symbols of the host's functions, by our names for them; without those that cannot be had."""
    symbols = {}
    for name, function in _LIBRARY.items():
        symbol = f"ptxspec_host_{function}"
        for library in (None, "libm.so.6", "msvcrt"):
            try:
                _known_to_llvm(symbol, getattr(ctypes.CDLL(library), function))
            except (OSError, AttributeError, TypeError):
                continue
            symbols[name] = symbol
            break
    return symbols


@cache
def _quick(name: str, slow: str, function: str, count: int) -> frozenset[str]:
    """A function of bits of single precision that computes in double precision, and asks only where that does not decide: near
    the middle of two numbers, and where the result is subnormal, infinite or none."""
    needs = set()
    if function in _OPERATIONS:
        needs.add("declare double @llvm.sqrt.f64(double)")
        compute = _OPERATIONS[function]
    elif function in _library():
        symbol = _library()[function]
        needs.add(f"declare double @{symbol}(double) {PURE}")
        compute = f"  %y = call double @{symbol}(double %x)"
    else:
        compute = "  %y = fsub double 0.0, 0.0"  # nothing is decided
    parameters = ", ".join(f"i64 %a{i}" for i in range(count))
    text = f"""define internal i64 @{name}({parameters}) noinline nounwind willreturn readnone {{
  %w = trunc i64 %a0 to i32
  %s = bitcast i32 %w to float
  %x = fpext float %s to double
{compute}
  %low = fmul double %y, {_real(1 - MARGIN)}
  %high = fmul double %y, {_real(1 + MARGIN)}
  %one = fptrunc double %low to float
  %other = fptrunc double %high to float
  %same = fcmp oeq float %one, %other
  %bits = bitcast float %one to i32
  %size = and i32 %bits, {0x7FFFFFFF}
  %above = icmp ugt i32 %size, {1 << 23}
  %below = icmp ult i32 %size, {0x7F000000}
  %normal = and i1 %above, %below
  %decided = and i1 %same, %normal
  br i1 %decided, label %done, label %ask
done:
  %word = zext i32 %bits to i64
  ret i64 %word
ask:
  %asked = call i64 @{slow}({parameters})
  ret i64 %asked
}}"""
    return frozenset({text, *needs})


def _real(x: float) -> str:
    """A number of double precision as LLVM writes it: by its bits."""
    return f"0x{int.from_bytes(ctypes.string_at(ctypes.byref(ctypes.c_double(x)), 8), 'little'):016X}"
