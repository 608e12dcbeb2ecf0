"""Rows come out of parts as they went in, whatever was left out on the way."""

import zlib
from importlib.resources import files

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import DataError
from tradewind.spark import brief
from tradewind.spark.packing import in_pieces, packed, unpacked, weight

TIMES = pa.timestamp("us", "UTC")
NUMBERS = st.integers(-(2**55), 2**55)


@st.composite
def batches(draw) -> pa.RecordBatch:
    rows = draw(st.integers(0, 40)) * draw(st.sampled_from([1, 1, 200]))
    times = [draw(NUMBERS) for _ in range(min(rows, 7))]
    times = [times[n % len(times)] for n in range(rows)]
    if draw(st.booleans()) and rows:
        times[0] = None
    due = draw(st.sampled_from(["time", "other", "nearly"]))
    dues = [0 if one is None or due == "other" else one for one in times]
    if due == "nearly" and rows:
        dues[-1] += 1
    weights = [draw(st.sampled_from([1, -1, 3]))] * rows if draw(st.booleans()) else [1] * rows
    columns = {
        "_weight": pa.array(weights, pa.int64()),
        "text": pa.array([draw(st.sampled_from(["", "ü", None])) if n < 9 else "x" for n in range(rows)], pa.string()),
        "ts": pa.array(times, pa.int64()).cast(TIMES),
        "_due": pa.array(dues, pa.int64()),
        "pair": pa.array(
            [{"a": n, "b": None} for n in range(rows)], pa.struct([("a", pa.int64()), ("b", pa.string())])
        ),
    }
    kept = [name for name in columns if name in ("ts", "text") or draw(st.booleans())]
    return pa.RecordBatch.from_pydict({name: columns[name] for name in kept})


@given(batches())
def test_what_went_in_comes_out(batch) -> None:
    found = unpacked(packed(batch), "here")
    ours = [name for name in batch.schema.names if name not in ("_due", "_weight")]
    due = ["_due"] if "_due" in batch.schema.names else []
    assert found.schema.names == [*ours, *due, "_weight"], "ours are the last, whether they were left out or not"
    assert found.select(batch.schema.names).to_pylist() == batch.to_pylist()
    if "_weight" not in batch.schema.names:
        assert set(found.column(found.num_columns - 1).to_pylist()) <= {1}


def test_time_and_weights_of_one_travel_for_nothing() -> None:
    times = pa.array([n * 7_919 * 31_337 for n in range(20_000)], pa.int64())
    bare = pa.RecordBatch.from_pydict({"ts": times.cast(TIMES)})
    ours = pa.RecordBatch.from_pydict({"ts": times.cast(TIMES), "_due": times, "_weight": pa.repeat(1, 20_000)})
    assert len(packed(ours)) < len(packed(bare)) + 200
    assert weight(ours) == pytest.approx(weight(bare), abs=200)


def test_long_batches_are_cut_and_what_is_no_part_is_said_to_be_none() -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array(range(10_000_000))})
    pieces = list(in_pieces(batch))
    assert len(pieces) == 2
    assert sum(piece.num_rows for piece in pieces) == batch.num_rows
    for payload in (b"", b"nothing", b"\x01nothing", packed(batch.slice(0, 10))[:-20]):
        with pytest.raises(DataError, match="holds no rows that can be read"):
            unpacked(payload, "here")


def test_a_part_of_a_few_rows_is_little_more_than_its_rows() -> None:
    columns = {"name": ["a", "b"], "n": [1, 2], "_due": [5, 6], "_weight": [1, -1]}
    batch = pa.RecordBatch.from_pydict({**columns, "at": pa.array([5, 7], pa.int64()).cast(TIMES)})
    assert len(packed(batch)) < 200
    assert packed(batch)[:1] == brief.FIRST


@given(st.binary(max_size=2_000))
def test_short_bytes_come_out_as_they_went_in_and_noise_is_refused(noise: bytes) -> None:
    assert brief.inflated(brief.deflated(noise)) == noise
    with pytest.raises(ValueError, match=r"cut off|invalid"):
        brief.inflated(brief.deflated(noise)[:-1])
    bomb = brief.deflated(b"\0" * 2_000_000)
    with pytest.raises(ValueError, match="too long"):
        brief.inflated(bomb)


def test_the_dictionary_is_the_one_that_parts_are_packed_with_everywhere() -> None:
    kept = files("tradewind.spark").joinpath("brief.dictionary").read_bytes()
    assert zlib.crc32(kept) == 0xFBE01011, "sites of different versions could not read one another"
    left, shapes = pa.BufferReader(kept), []
    while left.tell() < len(kept):
        with pa.ipc.open_stream(left) as part:
            shapes.append(part.schema.names)
            assert part.read_all().num_rows == 0
    assert shapes[-1] == ["key", "last", "n", "_due", "_weight"]
