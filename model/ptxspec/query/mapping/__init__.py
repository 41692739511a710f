"""How libcu++ spells the atomic operations of C++ in PTX: whether each outcome that PTX allows is one that C++ allows."""
