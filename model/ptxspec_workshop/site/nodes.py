"""A part of a page that opens when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Details(nodes.Element):
    """What stands behind a line that opens it; its attribute `summary` is the line, `kind` the class in HTML."""


def _open(self: Any, node: Details) -> None:
    self.body.append(
        f'<details class="{node.get("kind", "forms")}"><summary>{self.encode(node["summary"])}</summary>\n'
    )


def _close(self: Any, node: Details) -> None:
    self.body.append("</details>\n")


def _open_plain(self: Any, node: Details) -> None:
    """Other builders than HTML show the content alone."""


def register(app: Sphinx) -> None:
    """Tell Sphinx how to write the node."""
    plain = (_open_plain, _open_plain)
    app.add_node(Details, html=(_open, _close), latex=plain, text=plain, man=plain, texinfo=plain)
