"""The check for races: what a launch remembers of accesses, and which of them the memory model orders."""
