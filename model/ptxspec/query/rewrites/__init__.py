"""Rewrites of a thread's operations: which ones are right beside any other threads, by the memory model."""
