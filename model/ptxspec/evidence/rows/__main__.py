"""Brings the ledger up to date: `python -m ptxspec.evidence.rows`."""

import sys

from ptxspec.evidence.rows.computing import main

if __name__ == "__main__":
    sys.exit(main())
