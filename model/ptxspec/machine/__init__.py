"""The machine: memory, the flow of control, and the launch of a grid under either engine."""
