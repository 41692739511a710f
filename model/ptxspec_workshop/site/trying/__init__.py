"""Try it: a box on the page of an instruction that evaluates it in the reader's browser.

`answers.py` is what runs there, in Pyodide, beside the definitions themselves. `npm.py` fetches from npm what
`pyodide.py` names, when the site is built, `archive.py` packs the files that travel, and `box.py` puts the box onto the pages.
"""
