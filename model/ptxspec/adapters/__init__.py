"""Kernels of other tools on the specification."""
