"""A GPU is asked once, and what it answers is kept and compared from then on. `python -m ptxspec_workshop.record FOLDER` asks
it, on a machine that has one; nothing else here needs it."""
