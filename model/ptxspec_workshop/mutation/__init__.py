"""How much a mistake in a definition is noticed: mistakes are planted in copies of definitions, and each has to be found.

`operators.py` says what a mistake is, `mutants.py` which there are, `listing.py` which are planted; `planting.py` puts one in
place for a while. A mutant is killed by an identity (`by_identities.py`), by a law (`by_laws.py`) or by an oracle
(`by_oracles.py`), or it is shown to mean the same (`sameness.py`); what is left is a survivor. `judging.py` judges one,
`campaign.py` all of them, and `score.py` counts.
"""
