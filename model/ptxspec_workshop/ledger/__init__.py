"""Computes the rows of the ledger, and writes the file of evidence that was computed before."""
