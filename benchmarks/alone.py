"""The first of the demo's questions, the top domains, alone: what crosses the links, beside its prediction and beside
shipping the columns that it needs, packed.

./dev bench alone [--scale 1] [--minutes 6] [--error 0.01]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from _charts import chart

from tradewind.apps.cdn.deployment import TOP, only, prepare
from tradewind.apps.cdn.log import Traffic
from tradewind.apps.cdn.shipping import everything
from tradewind.runtime.deployment import runnable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--minutes", type=int, default=6)
    parser.add_argument("--error", type=float, default=0.0, help="how far off the answer may be")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        prepared = prepare(Path(temporary), 1, Traffic(minutes=given.minutes, scale=given.scale))
        found = only(prepared.deployment, TOP)
        found = replace(found, queries={TOP: replace(found.queries[TOP], error=given.error)})
        with runnable(found).run(state=Path(temporary) / "state") as live:
            live.wait()
            measured = {ends: one.bytes for ends, one in live.links().items()}
            planned = live.planned
        assert planned is not None
        seconds = given.minutes * 60
        predicted = {(link.start, link.end): link.bytes_per_second * seconds for link in planned.links()}
        shipped = {(one.start, one.end): one.bytes for one in everything(planned.report.chosen)}
    whole = sum(measured.values())
    for ends, size in sorted(measured.items()):
        if size > whole / 100:
            expected = predicted.get(ends, 0.0)
            print(f"{' → '.join(ends)}: {size:,} bytes, {size / expected if expected else 0:.2f} of predicted")
    sizes = {
        "needed columns shipped": float(sum(shipped.values())),
        "predicted": sum(predicted.values()),
        "measured": float(whole),
    }
    ratio = sizes["needed columns shipped"] / whole
    chart(
        "alone", f"Top domains alone, {prepared.rows:,} requests; {ratio:.1f} times fewer bytes", "bytes", {"": sizes}
    )


if __name__ == "__main__":
    main()
