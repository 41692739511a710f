"""What holds the definitions to account, as far as it is read or exchanged here.

`kernels` has operands and kernels of single instructions, and `compiled_loops.py` runs a term on many operands. Above them
stand the ledger (`ledger.py`, `precomputed.py`), which is read here, and the exchange with other implementations
(`vector_files.py`, `vector_results.py`, `vector_folder.py`). A room imports those before it and none behind it.
"""
