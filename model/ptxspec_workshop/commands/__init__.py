"""Commands that this package adds to the command line, and the check of one page."""
