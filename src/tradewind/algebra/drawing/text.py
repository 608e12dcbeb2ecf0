"""A graph as a tree of lines: results at the top, what they read below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tradewind.algebra.drawing.labels import box_name, label
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Source
from tradewind.algebra.operators.derived import Superbox

Note = Callable[[Operator], str]
_Boxes = tuple[Superbox, ...]
_BELOW = {"": "", "├─ ": "│  ", "└─ ": "   "}
"""What goes on below each kind of branch."""


def draw_text(drawn: Graph | Operator, note: Note | None = None) -> str:
    """The tree of a graph or of one operator.

    A part that several nodes read is shown once; elsewhere `↑` and its name (of a stream, connection point or result)
    or its number stand for it. `⟦ name` opens a superbox and `⟧ name` closes it, before the streams that go into it.
    What `note` says about a node stands behind it.
    """
    graph = drawn if isinstance(drawn, Graph) else Graph.of(result=drawn)
    return "\n".join(_Tree(graph, note).lines(named=isinstance(drawn, Graph)))


class _Tree:
    """One drawing: which nodes have been shown so far, and under which names."""

    def __init__(self, graph: Graph, note: Note | None) -> None:
        self.graph = graph
        self.note = note
        self.readers = _readers(graph)
        self.shown: dict[Operator, str] = {}
        self.count = 0

    def lines(self, *, named: bool) -> Iterator[str]:
        """The lines of all results."""
        for name, root in self.graph.results:
            if named:
                yield name
            yield from self._below(root, name if named else "")

    def _below(self, root: Operator, result: str) -> Iterator[str]:
        # A stack instead of recursion: graphs may be deeper than Python's own stack.
        stack: list[tuple[str, str, Operator, _Boxes]] = [("", "└─ " if result else "", root, ())]
        while stack:
            prefix, branch, node, boxes = stack.pop()
            below = prefix + _BELOW[branch]
            if boxes and node in boxes[-1].starts:
                yield f"{prefix}{branch}⟧ {boxes[-1].name}"
                stack.append((below, "└─ ", node, boxes[:-1]))
            elif node in self.shown:
                yield f"{prefix}{branch}↑ {self.shown[node]}"
            else:
                yield f"{prefix}{branch}{self._line(node, result if node is root else '')}"
                inner = (*boxes, node) if isinstance(node, Superbox) else boxes
                for number, child in enumerate(reversed(_read(node))):
                    stack.append((below, "├─ " if number else "└─ ", child, inner))

    def _line(self, node: Operator, result: str) -> str:
        text = f"⟦ {box_name(node)}" if isinstance(node, Superbox) else label(node)
        said = self.note(node) if self.note else ""
        mark = ""
        if self.readers[node] > 1:
            name = self._name(node, result)
            if not name:
                self.count += 1
                name = str(self.count)
                mark = f"  ({name})"
            self.shown[node] = name
        return f"{text}{mark}{f'  · {said}' if said else ''}"

    def _name(self, node: Operator, result: str) -> str:
        """The name by which a node can be called, unless another one has it."""
        own = node.stream if isinstance(node, Source) else node.name if isinstance(node, ConnectionPoint) else result
        return "" if own in self.shown.values() else own


def _read(node: Operator) -> tuple[Operator, ...]:
    return (node.body,) if isinstance(node, Superbox) else node.inputs


def _readers(graph: Graph) -> Counter[Operator]:
    """How often each node is come across when reading the tree."""
    found = Counter(root for _, root in graph.results)
    for node in graph:
        found.update(_read(node))
    return found
