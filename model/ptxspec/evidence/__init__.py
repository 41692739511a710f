"""What holds the definitions to account, in three rooms.

`generate` makes what is asked: operands, one-instruction kernels, images, random programs. `compare` has a question answered in
two ways here, by interpretations of a term or by engines, and tells what differs. `record` asks a GPU and the assembler, keeps
the answers, and holds them against ours. A room imports those before it and none behind it.

Above them stand the account of it all (`ledger.py`) and the exchange with other implementations (`vector_files.py`,
`vector_results.py`, `vector_folder.py`).
"""
