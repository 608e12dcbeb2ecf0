"""A fragment's state as it is sent, what is refused of it, and how a coordinator leads a move. No processes."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cluster.test_moving import FILE
from tests.fragments.test_cut import planned
from tradewind.errors import DataError
from tradewind.fragments.written import from_data, to_data
from tradewind.frontends.deployment.file import deployment
from tradewind.runtime.cluster.changes import begins_anew
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.moving import Moved
from tradewind.runtime.cluster.moving_lead import Lead, begun
from tradewind.runtime.cluster.moving_reports import HandedTold, MoveTold, told_of
from tradewind.runtime.cluster.moving_routes import Roads, chosen
from tradewind.runtime.cluster.moving_state import Manifest, Said, digest_of, order_of, pack, unpack
from tradewind.runtime.cluster.planning import wanted_also, wanted_of, with_moves
from tradewind.runtime.cluster.presence import LOST, Present
from tradewind.spark.memory import Commit, Segment, last_commit, write_commit

MANIFEST = Manifest({"a": 14, "b": None}, {"c": Said(order_of(7, True), {"sales/north": 5}), "d": None}, 2)
COMMIT = Commit(7, {"merge-3-rows": (Segment("batch-7/merge-3-rows-1", 2, 9),)}, {"merge-3-rows": '{"type":"struct"}'},
                {"order-1-buckets": "batch-6/order-1-buckets"}, {"positions": {"a": 3}})  # fmt: skip


def memory(folder: Path) -> Path:
    """What a fragment remembers, and what it does not need any more."""
    (folder / "commits").mkdir(parents=True)
    write_commit(folder, COMMIT)
    files = ("batch-7/merge-3-rows-1/part-0.snappy.parquet", "batch-6/order-1-buckets/0/lines.arrow")
    for name in (*files, "batch-7/merge-3-rows-1/_SUCCESS", "batch-7/merge-3-rows-1/.part-0.crc", "batch-5/old-1/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode() * 1000)
    return folder


def test_a_state_arrives_as_it_was(tmp_path) -> None:
    there = memory(tmp_path / "memory")
    packed = pack(there, MANIFEST, tmp_path / "state")
    assert (packed.digest, packed.size) == (digest_of(tmp_path / "state"), (tmp_path / "state").stat().st_size)
    assert packed.size < packed.state_bytes
    assert unpack(tmp_path / "state", tmp_path / "new") == (MANIFEST, COMMIT)
    arrived = {path.relative_to(tmp_path / "new/memory").as_posix() for path in tmp_path.glob("new/memory/**/*.*")}
    assert arrived == {"batch-7/merge-3-rows-1/part-0.snappy.parquet", "batch-6/order-1-buckets/0/lines.arrow"}
    for name in arrived:
        assert (tmp_path / "new/memory" / name).read_bytes() == (there / name).read_bytes()


def test_a_fragment_that_has_done_nothing_has_a_state_too(tmp_path) -> None:
    pack(tmp_path / "memory", Manifest(), tmp_path / "state")
    assert unpack(tmp_path / "state", tmp_path / "new") == (Manifest(), Commit())
    assert last_commit(tmp_path / "new/memory") == Commit()


def archive(path: Path, members: dict[str, bytes], commit: Commit = COMMIT, kind: bytes = tarfile.REGTYPE) -> Path:
    texts = {"manifest.json": json.dumps(asdict(MANIFEST)).encode(), "commit.json": json.dumps(asdict(commit)).encode()}
    with (
        pa.OSFile(str(path), "wb") as raw,
        pa.CompressedOutputStream(raw, "zstd") as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for name, content in {**texts, **members}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if name in members:
                member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", [
    "../x", "/tmp/x", "memory/../../x", "memory/batch-1/../../../x", "memory/commits/9.json", "memory/batch-1/x",
    "memory/batch-1/a/.hidden", "tickets/x", "commit.json/x", "memory/batch-1/a/b/c/d/e", "memory/batch-x/a/b",
])  # fmt: skip
def test_files_outside_of_where_they_belong_are_refused(tmp_path, name) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        unpack(archive(tmp_path / "state", {name: b"x"}), tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] in ([], ["new"])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_only_plain_files_are_taken(tmp_path, kind) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        unpack(archive(tmp_path / "state", {"memory/batch-1/a/b": b""}, kind=kind), tmp_path / "new")


@pytest.mark.parametrize("wrong", [
    replace(COMMIT, folders={"x": "../../elsewhere"}),
    replace(COMMIT, tables={"x": (Segment("/etc", 1, None),)}),
    replace(COMMIT, schemas={"x": json.dumps({"fields": [{"type": {"type": "udt", "pyClass": "a.b"}}]})}),
])  # fmt: skip
def test_commits_that_reach_further_are_refused(tmp_path, wrong) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        unpack(archive(tmp_path / "state", {}, wrong), tmp_path / "new")


def test_what_is_damaged_is_refused(tmp_path) -> None:
    pack(memory(tmp_path / "memory"), MANIFEST, tmp_path / "state")
    whole = (tmp_path / "state").read_bytes()
    for number, damaged in enumerate((b"", b"x" * 100, whole[: len(whole) // 2], whole[:20] + b"x" * 20 + whole[40:])):
        (tmp_path / "state").write_bytes(damaged)
        with pytest.raises(DataError):
            unpack(tmp_path / "state", tmp_path / f"new{number}")


THERE = {site: Present("it") for site in ("depot", "hq", "south", "north")}
"""All sites, as one process each."""


def wanted(tmp_path: Path) -> tuple[Wanted, Roads]:
    file = tmp_path / "market.yaml"
    file.write_text(FILE)
    deployed = from_data(json.loads(json.dumps(to_data(planned(file)))))
    every = {one.name: 1.0 for one in deployed.fragments}
    found = Wanted("market", 1, FILE, "market.yaml", deployed, every, dict.fromkeys(every))
    return found, Roads.of(deployment(file))


def test_a_move_goes_on_when_all_is_where_it_has_to_be(tmp_path) -> None:
    before, roads = wanted(tmp_path)
    moving = begun(before, "best", "south", roads)
    assert Wanted.from_json(json.loads(json.dumps(moving.to_json()))) == moving
    lead, move = Lead(), moving.move
    assert move is not None
    assert lead.next(moving, roads, 0.0, THERE) is None
    inputs = next(one.inputs for one in moving.deployed.fragments if one.name == move.fragment)
    one, two = inputs
    output = next(name for name, channel in moving.deployed.channels.items() if channel.site == "depot")

    def told(now: float, site: str, **more) -> Wanted | None:
        lead.take(MoveTold(site=site, term=1, **more))
        return lead.next(moving, roads, now, THERE)

    assert told(1.0, "depot", read={one: 8, two: None}) is None
    assert told(1.0, "south", kept={one: 10, two: None}) is None, "not back to where it is"
    assert told(1.5, "depot", read={one: 8}) is None, "where it is, is not known"
    handing = told(2.0, "depot", read={one: 10, two: None})
    assert handing is not None
    assert handing.move is not None
    assert handing.move.phase == "handing"
    moving = handing
    handed = HandedTold(
        digest="a" * 64, size=5, pieces=1, state_bytes=9, said={output: 6}, stopped_ago=0.5, batch_ago=0.8
    )
    assert told(3.0, "depot", handed=handed) is None
    assert told(3.1, "hq", heads={output: 4}) is None, "not all that was written is there"
    taking = told(3.2, "hq", heads={output: 6})
    assert taking is not None
    assert taking.move is not None
    assert (taking.move.phase, taking.terms) == ("taking", {move.arrives_as: 1})
    assert taking.deployed.channels[output].hops == (("south", "depot"), ("depot", "hq"))
    moving = taking
    assert told(5.0, "south", begun_ago=0.5) is None
    over = told(6.0, "south", begun_ago=1.5, batch_ago=0.5)
    assert over is not None
    assert over.move is None
    assert (over.moved[0].handover_seconds, over.moved[0].pause_seconds) == (2.0, 3.3)
    assert (over.moved[0].bytes, over.moved[0].state_bytes) == (5, 9)
    assert Wanted.from_json(json.loads(json.dumps(over.to_json()))) == over


MORE = """
queries:
  often:
    sql: SELECT item, count(*) AS n FROM sales WHERE amount > 0 GROUP BY item
    deliver: {site: hq, format: parquet, path: out/often}
"""


def test_queries_are_added_to_what_has_moved(tmp_path) -> None:
    file = tmp_path / "market.yaml"
    file.write_text(FILE)
    roads = Roads.of(deployment(file))
    first = wanted_of(deployment(file), FILE, None, tmp_path / "figures")
    fragment = chosen(first.deployed, "best")
    names = [replace(fragment, site=site).name for site in ("depot", "hq", "south")]
    moves = (Moved(1, names[0], names[1], "depot", "hq", 0), Moved(2, names[1], names[2], "hq", "south", 0))
    moved = with_moves(first, replace(first, moved=moves, term=2), roads)
    assert names[2] in [one.name for one in moved.deployed.fragments]
    assert (moved.terms, moved.term) == ({names[2]: 2}, 2)
    more, added = wanted_also(moved, MORE, [], tmp_path, tmp_path / "figures")
    assert added == ["often"]
    kept = {one.name for one in moved.deployed.fragments}
    assert kept < {one.name for one in more.deployed.fragments}
    assert not begins_anew(moved, more, {})
    for name, channel in moved.deployed.channels.items():
        assert more.deployed.channels[name].site == channel.site
    # What the file says without the moves would let channels come from elsewhere.
    assert begins_anew(moved, first, dict.fromkeys(first.deployed.channels, True))


def test_a_move_is_undone_as_long_as_it_can_be(tmp_path) -> None:
    before, roads = wanted(tmp_path)
    moving = begun(before, "best", "hq", roads)
    lead = Lead()
    assert lead.next(moving, roads, 0.0, THERE) is None
    undone = lead.next(moving, roads, 1000.0, THERE)
    assert undone is not None
    assert undone.deployed.channels == before.deployed.channels
    assert (undone.move, undone.term) == (None, 1)
    assert [one["state"] for one in lead.shown(undone)] == ["undone"]


@pytest.mark.parametrize("lost", ["depot", "hq"])
@pytest.mark.parametrize("phase", ["preparing", "handing"])
def test_a_move_is_undone_at_once_when_one_of_its_sites_is_lost(tmp_path, lost, phase) -> None:
    """Whoever was killed needs as long as it needs to come back; nobody waits for it to go on with the move."""
    before, roads = wanted(tmp_path)
    asked = begun(before, "best", "hq", roads)
    assert asked.move is not None
    moving = replace(asked, move=replace(asked.move, phase=phase))
    for heard, why in (
        (Present("another"), f"{lost} was started again"),
        (Present("it", LOST + 1), f"nothing was heard of {lost} for 16 s"),
    ):
        lead = Lead()
        assert lead.next(moving, roads, 0.0, THERE) is None
        assert lead.next(moving, roads, 2.0, {**THERE, lost: Present("it", LOST - 1)}) is None
        # Somebody else has nothing to do with it.
        assert lead.next(moving, roads, 2.5, {**THERE, "north": Present("another", 60.0)}) is None
        undone = lead.next(moving, roads, 3.0, {**THERE, lost: heard})
        assert undone is not None
        assert undone.move is None
        assert undone.deployed.channels == before.deployed.channels
        assert [(one["state"], one["problem"]) for one in lead.shown(undone)] == [("undone", why)]


def test_nobody_stands_still_for_a_site_that_has_copies_and_is_lost(tmp_path) -> None:
    before, roads = wanted(tmp_path)
    asked = begun(before, "best", "south", roads)
    assert asked.move is not None
    handing = replace(asked, move=replace(asked.move, phase="handing"))
    for moving, undone in ((asked, False), (handing, True)):
        lead = Lead()
        assert lead.next(moving, roads, 0.0, THERE) is None
        after = lead.next(moving, roads, 1.0, {**THERE, "hq": Present("another")})
        assert (after is not None) == undone


def test_what_was_handed_over_goes_forward_whoever_is_started_again(tmp_path) -> None:
    before, roads = wanted(tmp_path)
    asked = begun(before, "best", "hq", roads)
    assert asked.move is not None
    moving = replace(asked, move=replace(asked.move, phase="taking"))
    lead = Lead()
    assert lead.next(moving, roads, 0.0, THERE) is None
    assert lead.next(moving, roads, 1000.0, {**THERE, "hq": Present("another")}) is None


def test_a_coordinator_that_was_started_again_leads_on_whom_it_hears_of(tmp_path) -> None:
    before, roads = wanted(tmp_path)
    moving = begun(before, "best", "hq", roads)
    lead = Lead()
    assert lead.next(moving, roads, 0.0, {}) is None
    assert lead.next(moving, roads, LOST - 1, THERE) is None
    assert lead.next(moving, roads, LOST + 1, THERE) is None
    assert Lead().next(moving, roads, 0.0, {}) is None
    silent = Lead()
    assert silent.next(moving, roads, 0.0, {}) is None
    assert silent.next(moving, roads, LOST + 1, {}) is not None


def test_reports_on_moves_are_checked() -> None:
    told = MoveTold(site="hq", term=3, heads={"c": None})
    assert told_of("hq", told.encoded()) == told
    for site, payload in (
        ("ams", told.encoded()),
        ("hq", b"{"),
        ("hq", b'{"site": "hq", "term": -1}'),
        ("hq", b"x" * 2_000_000),
    ):
        with pytest.raises(DataError):
            told_of(site, payload)
