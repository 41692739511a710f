"""Random programs: kernels of many instructions, made from a seed over all forms that are functions of their operands."""
