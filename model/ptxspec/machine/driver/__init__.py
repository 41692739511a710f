"""How the threads of a grid take turns, wait for one another and go on: the driver of both engines, written once.

The exact engine runs these functions as they stand; the native one compiles them (`native/compiling.py` says which part of
Python they are written in). Their first parameter is the machine: `protocol.py` lists its numbers and arrays, and the steps of
the pages under `spec/machine/` that it can take. What happens at a barrier, or when a warp may go on, are those steps; here is
no rule of PTX, only where records lie and who is looked at next.
"""
