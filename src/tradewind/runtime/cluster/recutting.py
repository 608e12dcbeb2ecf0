"""A fragment in parts, as it stands in what is wanted: split over the agents of its site, or with its work elsewhere.

A fragment is cut into shares where it is: it stands still, what it remembers is dealt out, and the shares begin. From
there shares go to workers, and come back, by moves like any other. Shares that are all at home are made one again in
the same manner: they stand still, at the same place, and what they remember is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.fragments.detaching import Detaching
from tradewind.fragments.parting import Parting, merged, split
from tradewind.fragments.sharing import Sharing
from tradewind.fragments.written import fragment_from_data, fragment_to_data


@dataclass(frozen=True)
class Split:
    """A fragment in shares, and where each of them is to be."""

    whole: Fragment
    term: int
    places: tuple[str, ...]
    merging: bool = False
    """Whether all shares are to come home, to be made one."""

    @cached_property
    def parting(self) -> Parting:
        """How it is cut."""
        return Detaching(self.whole, self.term) if self.detached else Sharing(self.whole, len(self.places), self.term)

    @property
    def detached(self) -> bool:
        """Whether it is one share, which went elsewhere from where its answers are delivered."""
        return len(self.places) == 1

    @property
    def goals(self) -> tuple[str, ...]:
        """Where the shares are to be."""
        return (self.whole.site,) * len(self.places) if self.merging else self.places

    @property
    def parts(self) -> frozenset[str]:
        """The channels by which its shares are known, wherever they are."""
        return frozenset(self.parting.channel_names)

    def runs(self, deployed: Deployed) -> bool:
        """Whether it is still there: a query that nobody wants any more takes it along."""
        return any(one.name == self.parting.together.name for one in deployed.fragments)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        whole = fragment_to_data(self.whole)
        return {"whole": whole, "term": self.term, "places": list(self.places), "merging": self.merging}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Split:
        """What was written, checked anew."""
        if not isinstance(data["term"], int) or not isinstance(data["merging"], bool):
            raise TypeError("a split has a wrong form")
        places = tuple(str(place) for place in data["places"])
        found = Split(fragment_from_data(data["whole"]), data["term"], places, data["merging"])
        _ = found.parting
        return found


@dataclass(frozen=True)
class Recut:
    """A cut under way, by a term of its own: a fragment into its shares, or, when it is `joining`, the other way."""

    term: int
    split: Split
    joining: bool = False

    @property
    def site(self) -> str:
        """Where it happens."""
        return self.split.whole.site

    @property
    def before(self) -> tuple[Fragment, ...]:
        """What stands still meanwhile, and ends with it."""
        return self._parts if self.joining else (self.split.whole,)

    @property
    def arriving(self) -> tuple[Fragment, ...]:
        """What begins with it."""
        return (self.split.whole,) if self.joining else self._parts

    @property
    def _parts(self) -> tuple[Fragment, ...]:
        return (*self.split.parting.shares, self.split.parting.together)

    def done(self, deployed: Deployed) -> Deployed:
        """What runs after it."""
        return merged(deployed, self.split.parting) if self.joining else split(deployed, self.split.parting)

    def figures(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of each fragment, with those that begin in the place of those that end."""
        gone = {one.name for one in self.before}
        found = {name: value for name, value in known.items() if name not in gone}
        values = [known[name] for name in known if name in gone]
        return found | {one.name: values[0] for one in self.arriving if values}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"term": self.term, "split": self.split.to_json(), "joining": self.joining}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Recut:
        """What was written, checked anew."""
        if not isinstance(data["term"], int) or not isinstance(data["joining"], bool):
            raise TypeError("a cut has a wrong form")
        return Recut(data["term"], Split.from_json(data["split"]), data["joining"])
