"""A guide's commands, files and Python as a reader goes through them: from top to bottom, in a folder of their own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```(console|python|\{code-block\} python)\n(?::caption: (\S+)\n)?(.*?)^```$", re.M | re.S)


class Step(NamedTuple):
    """Commands (`console`), a file (`file`, with its name), or Python that goes on where the page's last Python ended."""

    kind: str
    text: str
    name: str = ""


def steps(page: Path) -> list[Step]:
    """Consoles where Python is typed (`>>>`) are for the reader's eye."""
    found = []
    for language, name, text in _FENCE.findall(page.read_text()):
        if language == "console":
            lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
            found += [Step("console", line) for line in lines]
        else:
            found.append(Step("file", text, name) if name else Step("python", text))
    return found


def follow(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Do what a page says, in a folder. The Python of all fences is one program, which runs last. Raises RuntimeError with what
    was printed."""
    program = ""
    for step in steps(page):
        if step.kind == "file":
            (folder / step.name).write_text(step.text)
        elif step.kind == "python":
            program += step.text + "\n"
        else:
            run(["bash", "-e", "-c", step.text], folder, environment)
    (folder / "guide.py").write_text(program)
    run(["python", "guide.py"], folder, environment)


def run(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr
