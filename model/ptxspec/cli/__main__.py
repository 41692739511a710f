"""`python -m ptxspec.cli`."""

from ptxspec.cli import main

main()
