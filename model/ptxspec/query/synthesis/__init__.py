"""The shortest sequence of given instructions that equals a fragment: enumerated, tested on vectors, and proved."""
