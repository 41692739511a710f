"""Programs with control flow, memory, functions and a warp's collectives, as the terms that the prover compares.

A text becomes a checked module (`sides.py`), and a `Walk` goes through its basic blocks symbolically: registers are terms of
the path on which they are read, joined by `select` where paths meet (`walking.py`, `arrivals.py`). Memory is pieces of terms, one
a byte (`memory.py`), at addresses that are formed from the beginning of a buffer or a variable (`addresses.py`). A loop is taken
so often, or stepped over by an invariant (`inductive.py`). Lanes of a warp go side by side (`collectives.py`). A counterexample
is run by a real launch (`replaying.py`).
"""
