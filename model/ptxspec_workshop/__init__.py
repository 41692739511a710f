"""What developers of ptxspec run beside it: cases and recordings of a GPU, comparisons, the ledger, campaigns, and the site.

`ptxspec` imports nothing from here.
"""
