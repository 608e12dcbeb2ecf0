"""Every kind of box by the name it has in a file, and the kind that each operator is written as."""

from __future__ import annotations

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.frontends.flow.box import Box
from tradewind.frontends.flow.boxes import (
    ConnectionPointBox,
    FilterBox,
    JoinBox,
    MapBox,
    SourceBox,
    TopBox,
    UnionBox,
)
from tradewind.frontends.flow.grouping import AggregateBox, CombineBox, FinishBox, MergeBox, PartialBox
from tradewind.frontends.flow.ordered import (
    DistinctBox,
    OrderBox,
    ReadBox,
    ResampleBox,
    SampleBox,
    SplitBox,
    SuperboxBox,
    UpdateBox,
    WaitForBox,
)

_PAIRS: tuple[tuple[str, type[Operator], type[Box]], ...] = (
    ("source", Source, SourceBox),
    ("filter", Filter, FilterBox),
    ("map", Map, MapBox),
    ("union", Union, UnionBox),
    ("join", Join, JoinBox),
    ("aggregate", Aggregate, AggregateBox),
    ("partial", Partial, PartialBox),
    ("combine", Combine, CombineBox),
    ("merge", Merge, MergeBox),
    ("finish", Finish, FinishBox),
    ("top", Top, TopBox),
    ("order", Order, OrderBox),
    ("resample", Resample, ResampleBox),
    ("waitfor", WaitFor, WaitForBox),
    ("distinct", Distinct, DistinctBox),
    ("sample", Sample, SampleBox),
    ("split", Split, SplitBox),
    ("read", Read, ReadBox),
    ("update", Update, UpdateBox),
    ("connection_point", ConnectionPoint, ConnectionPointBox),
    ("superbox", Superbox, SuperboxBox),
)

BOXES: dict[str, type[Box]] = {name: box for name, _, box in _PAIRS}
"""What a file may write after `box:`, besides the names of its own superboxes."""

WRITTEN_AS: dict[type[Operator], str] = {operator: name for name, operator, _ in _PAIRS}
"""The kind of box that an operator is written as."""
