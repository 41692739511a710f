"""Graphs of names: which lead to themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def components(leads: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """For each node, the number of its strongly connected component: nodes of one component, and no others, lead to each
    other. Edges to what is no node are ignored. Tarjan's algorithm, without recursion, in time linear in nodes and edges."""
    number: dict[str, int] = {}  # in the order of the first visit
    least: dict[str, int] = {}  # the first of those on the stack that a node reaches
    component: dict[str, int] = {}
    stack: list[str] = []
    for root in leads:
        if root in number:
            continue
        number[root] = least[root] = len(number)
        stack.append(root)
        way: list[tuple[str, Iterator[str]]] = [(root, iter(leads[root]))]
        while way:
            node, rest = way[-1]
            for other in rest:
                if other not in leads or other in component:
                    continue
                if other in number:
                    least[node] = min(least[node], number[other])
                    continue
                number[other] = least[other] = len(number)
                stack.append(other)
                way.append((other, iter(leads[other])))
                break
            else:
                way.pop()
                if way:
                    least[way[-1][0]] = min(least[way[-1][0]], least[node])
                if least[node] == number[node]:
                    while component.get(node) is None:
                        component[stack.pop()] = number[node]
    return component


def reached(leads: Mapping[str, Iterable[str]], roots: Iterable[str]) -> set[str]:
    """The nodes that some nodes lead to, those among them."""
    nodes: set[str] = set()
    todo = [root for root in roots if root in leads]
    while todo:
        node = todo.pop()
        if node not in nodes:
            nodes.add(node)
            todo += [other for other in leads[node] if other in leads and other not in nodes]
    return nodes
