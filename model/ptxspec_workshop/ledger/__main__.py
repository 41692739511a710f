"""Brings the ledger up to date: `python -m ptxspec_workshop.ledger`."""

import sys

from ptxspec_workshop.ledger.computing import main

if __name__ == "__main__":
    sys.exit(main())
