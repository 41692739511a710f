"""Questions to the definitions: what an instruction gives, whether two sequences agree, and where they do not."""
