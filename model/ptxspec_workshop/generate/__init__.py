"""What is asked of all kinds of instructions: cases for a GPU, images, and random programs. Everything is made again from seeds
and names, so that answers alone have to be kept."""
