"""One question, two answers: engines on a kernel, or an engine and a GPU, and what differs between them."""
