"""One batch's turn at one table: rows that come late are put between what was done before, and that is done again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from tradewind.interpreter.rows import Bag, Row, Values, tidy
from tradewind.spark.tables.boxes import Answers, Changes
from tradewind.spark.tables.history import History, Segment
from tradewind.spark.tables.steps import Order, Step, added_up, pieces
from tradewind.spark.tables.working import Working

SIZE = 4096
"""So many steps are kept together, and are done again together when one comes between them."""


class Turn:
    """Steps at work on a table."""

    def __init__(self, order: Order, does: Sequence[Changes | Answers], history: History, rows: Working) -> None:
        self._answers: dict[int, Bag] = {}
        self._order = order
        self._does = does
        self._history = history
        self._rows = rows
        self._drift: Counter[Values] = Counter()
        """By what the table differs from what it was, at the same moment, before this turn."""

    def take(self, news: Sequence[Step]) -> None:
        """Do new steps, which are in order, in their turn."""
        later = self._history.since(news[0].time)
        changed = {segment: self._history.changed(segment) for segment in later}
        ends = [*(segment.number for segment in later[1:]), self._rows.number]
        self._go_back(later, changed)
        waiting: list[Segment] = []
        begin = done = 0
        for segment, end in zip(later, ends, strict=False):
            while done < len(news) and news[done].time <= segment.latest:
                done += 1
            if not waiting and done == begin and not self._drift and self._rows.number == segment.number:
                # Here everything is again as it was.
                self._rows.add(changed[segment])
                self._rows.number = end
                continue
            waiting.append(segment)
            if sum(one.steps for one in waiting) >= SIZE // 2 or segment is later[-1]:
                self._do_again(waiting, news[begin:done], changed)
                waiting, begin = [], done
        for piece in pieces(news[begin:], SIZE):
            self._do(piece)

    def gained(self) -> dict[int, Bag]:
        """What the answers of the read boxes have gained and lost, by box."""
        return {box: tidy(found) for box, found in self._answers.items()}

    def _go_back(self, later: Sequence[Segment], changed: dict[Segment, Counter[Values]]) -> None:
        """The table as it was before the later segments."""
        back: Counter[Values] = Counter()
        for one in changed.values():
            back.subtract(one)
        self._rows.add(back)
        if later:
            self._rows.number = later[0].number

    def _do_again(
        self, segments: Sequence[Segment], news: Sequence[Step], changed: dict[Segment, Counter[Values]]
    ) -> None:
        """Do the steps of segments once more, and new ones between them."""
        known = chain.from_iterable(self._history.steps(segment) for segment in segments)
        steps = self._order.sort(added_up(chain(known, news)))
        for segment in segments:
            self._drift.subtract(changed[segment])
            for box, answered in self._history.answered(segment):
                self._answer(box).subtract(answered)
            self._history.drop(segment)
        for piece in pieces(steps, SIZE):
            self._drift.update(self._do(piece))
        self._drift = Counter({row: weight for row, weight in self._drift.items() if weight})

    def _do(self, steps: Sequence[Step]) -> Counter[Values]:
        """Do ordered steps and keep them; gives what they change."""
        number, rows = self._rows.number, self._rows
        keys = [self._does[step.box].key(step.values) for step in steps]
        rows.load([key for key in keys if key is not None])
        rows.start()
        answered: dict[int, Bag] = {}
        for (time, _, box, row, due, weight), key in zip(steps, keys, strict=True):
            does = self._does[box]
            if weight < 0:
                continue
            if isinstance(does, Changes):
                for _ in range(weight):
                    does.apply(row, key, rows)
                continue
            found = answered.setdefault(box, Counter())
            for values in does.answer(row, key, rows):
                found[Row(row + values, max(due, time))] += weight
        changed = rows.delta()
        self._history.save(steps, number, changed, answered)
        for box, found in answered.items():
            self._answer(box).update(found)
        return changed

    def _answer(self, box: int) -> Bag:
        return self._answers.setdefault(box, Counter())
