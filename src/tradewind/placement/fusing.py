"""Plans tidied up: steps that only pass on are left out, and combines at one site become part of what reads them.

The dynamic programme brings partials together two by two. Where several such steps follow one another at one site, one
operator does the same work in one go, and reads all of their inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tradewind.algebra.operators.aggregation import Combine
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Union
from tradewind.network.network import Network
from tradewind.placement.choices import Content, Work
from tradewind.placement.plan import Hop, Plan, Step
from tradewind.rewrites.split_by_key import exchanged

_READ_MANY = ("combine", "merge")


def fused(plan: Plan, network: Network, contents: Mapping[str, Content]) -> Plan:
    """The same plan with fewer steps."""
    plan = _without_same(plan)
    while (pair := _pair(plan, network)) is not None:
        inner, outer = pair
        one = _joined(inner, outer, contents)
        plan = replace(plan, steps=plan.steps - {inner, outer} | {one})
    return plan


def _without_same(plan: Plan) -> Plan:
    """Contents that have two names get one."""
    names = {step.output: step.inputs[0] for step in plan.steps if step.kind == "same"}
    if not names:
        return plan

    def name(key: str) -> str:
        while key in names:
            key = names[key]
        return key

    steps = frozenset(replace(step, inputs=tuple(map(name, step.inputs))) for step in plan.steps if step.kind != "same")
    # Of two names that cross a link, always the same one says how much that is.
    ordered = sorted(plan.hops, key=lambda hop: (hop.content, hop.link))
    hops = frozenset(Hop(name(hop.content), hop.link, hop.bytes_per_second) for hop in ordered)
    return Plan(steps, hops, tuple(replace(goal, content=name(goal.content)) for goal in plan.goals))


def _pair(plan: Plan, network: Network) -> tuple[Step, Step] | None:
    """A combine, and the one step at its site that reads it, if nobody else does."""
    sent = {(hop.content, int(network.start[hop.link])) for hop in plan.hops}
    wanted = {(goal.content, goal.site) for goal in plan.goals}
    readers: dict[tuple[str, int], list[Step]] = {}
    for step in plan.steps:
        for key in step.inputs:
            readers.setdefault((key, step.site), []).append(step)
    for step in sorted(plan.steps, key=lambda one: (one.output, one.site)):
        place = (step.output, step.site)
        if step.kind != "combine" or place in sent or place in wanted or not _only_unites(step):
            continue
        found = readers.get(place, [])
        if len(found) == 1 and found[0].kind in _READ_MANY and step.output in found[0].inputs:
            return step, found[0]
    return None


def _only_unites(step: Step) -> bool:
    """Whether a combine reads its inputs as they are, and keeps their keys, windows and functions."""
    node = step.operator
    if node is None:
        return True
    if not isinstance(node, Combine) or node.window is not None:
        return False
    same = all(one.schema.columns == node.schema.columns for one in step.over)
    return same and _united(node.input, frozenset(step.over)) == step.over


def _united(node: Operator, over: frozenset[Operator]) -> tuple[Operator, ...]:
    """What a node unites: unions in unions, too, where combines became part of one another."""
    if node in over or not isinstance(node, Union):
        return (node,)
    return tuple(one for member in node.members for one in _united(member, over))


def _joined(inner: Step, outer: Step, contents: Mapping[str, Content]) -> Step:
    """The outer step over the inner one's inputs; it reads their rows instead of those in between."""
    place = outer.inputs.index(inner.output)
    inputs = (*outer.inputs[:place], *inner.inputs, *outer.inputs[place + 1 :])
    rows = sum(contents[key].rows_per_second for key in inner.inputs)
    between = contents[inner.output].rows_per_second
    cores = outer.cores + (inner.cores * (1 - between / rows) if rows > 0 else 0.0)
    work = outer.work
    if outer.operator is not None and outer.over:
        old, over = outer.over[place], (*outer.over[:place], *inner.over, *outer.over[place + 1 :])
        new = inner.over[0] if len(inner.over) == 1 else Union(inner.over)
        operator = exchanged(outer.operator, {old: new})
        work = Work(lambda: operator, lambda: over)
    return replace(outer, inputs=inputs, cores=cores, work=work)
