"""The pages that complaints point at."""

FUNCTIONS = "spec/functions/index.md"
CONTROL = "spec/instructions/control/index.md"
VARIABLES = "spec/variables/index.md"
DIRECTIVES = "spec/directives/index.md"
GAPS = "spec/gaps.md"
