"""The native engine: a kernel becomes machine code that gives threads their turns.

A thread's turn is one function, from the block at which the thread stands to where its turn ends (`threads.py`). While it runs,
its registers lie in memory of the function, of which LLVM makes registers of the processor. Between turns they lie in rows: an
array a register, an element a thread (`layout.py`). A kernel that is large is cut into several such functions. Threads that
have gathered at a narrow loop, a block that goes back to itself and only computes, go through it side by side (`narrow.py`).

Which threads run next, and who waits for whom, is for the driver (`machine/driver/`), which `compiling.py` makes machine code
of once for all kernels. What the driver, the kernel's code and the host share are the fields of one context (`context.py`). An
access that fails a check ends the launch; what it broke is then found out by the rules in Python that the exact engine uses
(`engine.py`). Machine code is kept on disk, by the digest of its text (`terms/object_code.py`).

A function's text is written by parts over one `FunctionText`, its lines so far: registers, operands, accesses, the stack, calls,
edges between blocks. Each part is handed those that it needs; `TurnFunction` in `threads.py` puts all together.
"""

from ptxspec.machine.native.code import LARGE, MANY_BLOCKS
from ptxspec.machine.native.engine import NativeEngine

__all__ = ["LARGE", "MANY_BLOCKS", "NativeEngine"]
