"""What there is to draw of a graph: boxes, arrows, frames and the names of the results."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.derived import Superbox


@dataclass(slots=True)
class Scene:
    """A graph in which superboxes are frames around their content and each result is a thing of its own."""

    boxes: dict[str, Operator] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    arrows: list[tuple[str, str]] = field(default_factory=list)
    frames: dict[str, Superbox] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    """The frame around each frame."""
    homes: dict[str, str] = field(default_factory=dict)
    """The innermost frame around each box; boxes in no frame are not here."""


def scene_of(graph: Graph) -> Scene:
    """Collect what there is to draw."""
    scene = Scene()
    ids: dict[Operator, str] = {}
    for node in graph:
        if isinstance(node, Superbox):
            continue
        ids[node] = f"n{len(ids) + 1}"
        scene.boxes[ids[node]] = node
        scene.arrows.extend((ids[content(child)], ids[node]) for child in node.inputs)
    for number, (name, root) in enumerate(graph.results, start=1):
        scene.results[f"r{number}"] = name
        scene.arrows.append((ids[content(root)], f"r{number}"))
    _add_frames(scene, graph, ids)
    return scene


def content(node: Operator) -> Operator:
    """The operator whose rows a node gives: of a superbox, the last one in it."""
    while isinstance(node, Superbox):
        node = node.body
    return node


def _add_frames(scene: Scene, graph: Graph, ids: dict[Operator, str]) -> None:
    # Outer superboxes come after inner ones in the graph; here the inner ones must come last, to take their boxes over.
    for box in reversed(list(graph)):
        if not isinstance(box, Superbox):
            continue
        members, exit_ = [ids[node] for node in _members(box)], ids[content(box.body)]
        if exit_ not in members:
            continue
        # A box that two superboxes have in common can be drawn in one only.
        around = scene.homes.get(exit_)
        name = f"f{len(scene.frames) + 1}"
        scene.frames[name] = box
        scene.parents[name] = around
        scene.homes |= {member: name for member in members if scene.homes.get(member) == around}


def _members(box: Superbox) -> list[Operator]:
    """The operators in a superbox, without those that are also behind its starts."""
    outside = set(walk(*box.starts))
    return [node for node in walk(box.body) if node not in outside and not isinstance(node, Superbox)]
