"""What holds the definitions to account: operand rows, and the agreement of the three interpretations."""
