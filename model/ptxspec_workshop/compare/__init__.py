"""One question, several answers: the interpretations of a term, engines on a kernel, or an engine and a GPU, and what
differs between them."""
