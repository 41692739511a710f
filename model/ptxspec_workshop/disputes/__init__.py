"""Disputes: what definitions, emulators, assemblers and chips say of the same few instructions."""
