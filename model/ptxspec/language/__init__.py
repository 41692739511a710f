"""PTX text: tokens, tree, checked modules and the diagnostics on the way."""
