"""The native engine: every basic block becomes machine code that runs all threads standing at it.

Registers lie in memory as one array each, an element a lane. A block's function goes through a list of lanes; for each it
loads the registers that are live, computes, checks and performs its accesses, stores what later blocks read, and appends the
lane to the list of the block it goes to. Another function, `run`, takes blocks in the order of their preference until none
has threads. An access that fails a check stops the run: what it broke is then found out by the same rules in Python that the
exact engine uses.
"""

from ptxspec.machine.native.code import LARGE, MANY_BLOCKS
from ptxspec.machine.native.engine import NativeEngine

__all__ = ["LARGE", "MANY_BLOCKS", "NativeEngine"]
