"""The life of a kernel and that of a proof, as pictures: what there is after each stage, and the functions that make it."""

from __future__ import annotations

from html import escape
from typing import NamedTuple


class Stage(NamedTuple):
    """What there is, and what of `ptxspec` makes it: a module and a name in it."""

    name: str
    made_by: tuple[str, ...] = ()


#: by the name that the directive takes, rows of stages from the top; stages beside each other are ways to the next row
LIVES: dict[str, tuple[tuple[Stage, ...], ...]] = {
    "kernel": (
        (Stage("PTX text"),),
        (Stage("syntax tree", ("language.parser:parse",)),),
        (
            Stage(
                "checked module: each instruction has a meaning in terms",
                ("language.check:check", "language.forms:registry"),
            ),
        ),
        (
            Stage(
                "one kernel of an entry and what it calls, an effect an instruction",
                ("machine.whole_kernels:linked", "machine.several_effects:split_effects"),
            ),
        ),
        (Stage("blocks and tables that both engines run", ("machine.flow:FlowGraph", "machine.program:program")),),
        (
            Stage("exact: a turn in Python", ("machine.scripts:Scripts", "machine.exact_engine:ExactEngine")),
            Stage("native: a turn in machine code", ("machine.native.code:Code", "machine.native.engine:NativeEngine")),
        ),
        (
            Stage(
                "a launch: turns of threads, and steps of pages",
                ("machine.launch_plan:LaunchPlan", "machine.driver.grid:run"),
            ),
        ),
        (
            Stage("what it returns", ("machine.launch_plan:Outcome",)),
            Stage("or the rule that it breaks, and where", ("machine.errors:LaunchError",)),
        ),
    ),
    "proof": (
        (Stage("two texts, and conditions on inputs"),),
        (
            Stage("terms of a straight line", ("query.fragments:read_fragment",)),
            Stage("terms of all paths, and memory", ("query.paths.sides:side",)),
        ),
        (Stage("a goal: inputs, what is assumed, what is compared", ("query.questions:ask",)),),
        (
            Stage("are both sides equal?", ("query.equivalence:equal",)),
            Stage("does one refine the other?", ("query.refinement:refined",)),
        ),
        (
            Stage("laws of sums", ("query.polynomials:Normal",)),
            Stage("values that are tried", ("query.trials:tried",)),
            Stage("a solver", ("query.solvers.solve:solve",)),
            Stage("every input", ("query.solvers.exhaustion:exhaust",)),
        ),
        (
            Stage(
                "a verdict: a proof, or inputs that differ, run again",
                ("query.replaying:refutation", "query.verdicts:Verdict"),
            ),
        ),
    ),
}
#: pixels: the picture's width, the space between boxes, between rows, and of a line of words
WIDTH, GAP, ROW_GAP, LINE = 760, 12, 24, 17


def picture(life: str) -> str:
    """An SVG of a life, from the top down. Raises KeyError for one that there is not."""
    parts: list[str] = []
    above: list[float] = []
    top = 4
    for stages in LIVES[life]:
        width = (WIDTH - 2 - (len(stages) - 1) * GAP) / len(stages)
        height = LINE * (1 + max(len(stage.made_by) for stage in stages)) + 10
        middles = [1 + width / 2 + i * (width + GAP) for i in range(len(stages))]
        parts += [_arrow(start, end, top) for start in above for end in middles]
        parts += [_box(stage, middle, top, width, height) for stage, middle in zip(stages, middles, strict=True)]
        top, above = top + height + ROW_GAP, middles
    head = '<defs><marker id="then" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    head += '<path d="M 0 0 L 8 4 L 0 8 z" fill="currentColor"/></marker></defs>'
    size = f'viewBox="0 0 {WIDTH} {top - ROW_GAP + 4}" width="{WIDTH}" role="img" aria-label="the life of a {life}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{head}{"".join(parts)}</svg>'


def _arrow(start: float, end: float, top: float) -> str:
    line = f"M {start:.0f} {top - ROW_GAP} L {end:.0f} {top - 2}"
    return f'<path d="{line}" fill="none" stroke="currentColor" stroke-opacity="0.55" marker-end="url(#then)"/>'


def _box(stage: Stage, middle: float, top: float, width: float, height: float) -> str:
    """A stage's name, and below it the files that make it."""
    lines = [f'<tspan font-weight="bold">{escape(stage.name)}</tspan>']
    files = [name.partition(":")[0].replace(".", "/") + ".py" for name in stage.made_by]
    lines += [f'<tspan x="{middle:.0f}" dy="{LINE}">{file}</tspan>' for file in files]
    return (
        f'<rect x="{middle - width / 2:.0f}" y="{top}" width="{width:.0f}" height="{height}" rx="4" fill="none" '
        f'stroke="currentColor"/><text x="{middle:.0f}" y="{top + LINE}" font-size="12" fill="currentColor" '
        f'text-anchor="middle">{"".join(lines)}</text>'
    )
