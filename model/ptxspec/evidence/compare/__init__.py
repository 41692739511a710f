"""One question, several answers from here: the interpretations of a term, and what differs between them."""
