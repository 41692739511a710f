"""What is asked about single instructions: operands, kernels of one instruction, and modules of them."""
