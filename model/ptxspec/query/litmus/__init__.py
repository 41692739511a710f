"""Litmus tests: what small programs of several threads may do by the memory model."""
