"""`ptxspec fuzz`: random programs put to an assembler, an emulator or an engine, and judged by the definitions."""
