"""One question, two answers from here: the interpretations of a term, the engines on a kernel, and what differs between them."""
