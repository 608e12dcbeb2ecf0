"""Writes what the code itself knows into the documentation: tables of functions, aggregates, rules, metrics, pictures.

`python -m tradewind.cli.reference` rewrites them in place; with `--check` it only says whether they are up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tradewind.algebra.aggregates import AGGREGATES, AggregateFunction
from tradewind.algebra.drawing.svg import draw_svg
from tradewind.algebra.expressions.functions import ALIASES, FUNCTIONS
from tradewind.algebra.graph import KINDS
from tradewind.cli.explained import explained
from tradewind.experiments.registry import EXPERIMENTS
from tradewind.frontends.deployment.file import deployment
from tradewind.frontends.flow.kinds import BOXES
from tradewind.placement.planners import PLANNERS
from tradewind.rewrites.alternatives import OFFERED
from tradewind.rewrites.rule import Rule
from tradewind.rewrites.rules import RULES
from tradewind.runtime.cluster.metrics import METRICS

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"(<!-- begin: (\w+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)


def functions() -> list[str]:
    """The scalar functions that an expression may call."""
    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(f"`{alias}`")
    rows = [
        (f"`{name}`", ", ".join(aliases.get(name, [])), f.takes, "" if f.strict else "sees NULL")
        for name, f in FUNCTIONS.items()
    ]
    return _table(("function", "also", "takes", "NULL"), rows)


def aggregates() -> list[str]:
    """The built-in aggregates and what they promise."""
    rows = [(f"`{_usage(f)}`", f.meaning, _promises(f)) for f in AGGREGATES.values()]
    return _table(("aggregate", "answers", "promises"), rows)


def _usage(f: AggregateFunction) -> str:
    if f.name == "count_distinct":
        return "count(DISTINCT x)"
    value = "x" if f.takes_value else "* or x"
    extras = [p.name if p.default is None else f"{p.name} = {p.default}" for p in f.parameters]
    return f"{f.name}({', '.join([value, *extras])})"


def _promises(f: AggregateFunction) -> str:
    flags = {"invertible": f.invertible, "idempotent": f.idempotent, "bounded": f.bounded, "by event time": f.ordered}
    kept = [word for word, holds in flags.items() if holds]
    if f.exact_twin:
        kept.append(f"approximates `{f.exact_twin}`")
    return ", ".join(["mergeable", *kept])


def operators() -> list[str]:
    """Every operator with its meaning in one sentence."""
    rows = [
        (f"`{name}`", _first_sentence(kind.__doc__ or ""), "derived" if kind.derived else "core")
        for name, kind in KINDS.items()
    ]
    return _table(("operator", "meaning", ""), rows)


def boxes() -> list[str]:
    """The kinds of boxes in a flow, and the keys each takes."""
    rows = []
    for name, box in BOXES.items():
        keys = [field.alias or key for key, field in box.model_fields.items() if key != "box"]
        rows.append((f"`{name}`", ", ".join(f"`{key}`" for key in keys), _first_sentence(box.__doc__ or "")))
    return _table(("box", "keys", "gives"), rows)


def rules() -> list[str]:
    """The rules in the order in which they are tried."""
    return _laws(RULES)


def offered() -> list[str]:
    """The rules that are only offered."""
    return _laws(OFFERED)


def _laws(some: Iterable[Rule]) -> list[str]:
    return _table(("rule", "law", "why it helps"), [(f"`{rule.name}`", rule.law, rule.helps) for rule in some])


def planners() -> list[str]:
    """The planners: what each does, and what its module says that it guarantees."""
    folder = ROOT / "src" / "tradewind" / "placement"
    rows = []
    for name, does in PLANNERS.items():
        module = folder / f"{name.replace('-', '_')}.py"
        text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
        rows.append((f"`{name}`", does, _section(text, "Guarantee")))
    return _table(("planner", "what it does", "what it guarantees"), rows)


def experiments() -> list[str]:
    """The experiments and what each shows."""
    return _table(("experiment", "shows"), [(f"`{one.name}`", one.shows) for one in EXPERIMENTS])


def metrics() -> list[str]:
    """What Prometheus is told, and by whom."""
    rows = [
        (f"`{name}`", one.kind, ", ".join(one.labels), one.help, "" if one.at == "both" else one.at)
        for name, one in METRICS.items()
    ]
    return _table(("metric", "kind", "labels", "what it is", "only at"), rows)


def packages() -> list[str]:
    """The packages and what goes in and comes out, from their own docstrings."""
    rows = []
    for init in sorted((ROOT / "src" / "tradewind").glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        head, _, rest = text.partition("\n\n")
        rows.append((f"`{init.parent.name}`", " ".join(head.split()), " ".join(rest.split())))
    return _table(("package", "what it is", "in, out, does not"), rows)


PICTURES: dict[str, tuple[str, tuple[str, ...], bool]] = {
    "top_domains.svg": ("cdn.yaml", ("top_domains",), False),
    "top_domains_rewritten.svg": ("cdn.yaml", ("top_domains",), True),
    "feed_alarms.svg": ("feed_alarms.yaml", (), False),
}
"""Pictures by file: of which example, which of its queries, and whether as it runs."""

TABLES: dict[str, Callable[[], list[str]]] = {
    "functions": functions, "aggregates": aggregates, "operators": operators, "boxes": boxes, "rules": rules,
    "offered": offered,
    "packages": packages, "planners": planners, "experiments": experiments, "metrics": metrics,
}  # fmt: skip


def _first_sentence(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def _section(text: str, title: str) -> str:
    """What a docstring says under a heading that is underlined, up to the next blank line."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def renewed(text: str) -> str:
    """The text with the tables between its markers written anew."""
    return _BLOCK.sub(lambda m: m[1] + "\n".join(TABLES[m[2]]()) + "\n" + m[4], text)


def pages() -> dict[Path, str]:
    """Every page and picture as it should be."""
    texts = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    found = {page: renewed(page.read_text(encoding="utf-8")) for page in texts}
    for name, (example, query, as_run) in PICTURES.items():
        declared = deployment(ROOT / "examples" / example)
        drawn = explained(declared, query).graph if as_run else declared.graph(*query)
        found[ROOT / "docs" / "pictures" / name] = draw_svg(drawn)
    return found


def main(arguments: list[str]) -> int:
    """Write or check all tables and pictures; 1 when a check finds one that is out of date."""
    stale = []
    for page, new in pages().items():
        if not page.exists() or page.read_text(encoding="utf-8") != new:
            stale.append(page.relative_to(ROOT))
            if "--check" not in arguments:
                page.parent.mkdir(exist_ok=True)
                page.write_text(new, encoding="utf-8")
    verb = "out of date" if "--check" in arguments else "written"
    for page in stale:
        print(f"{page}: {verb}", file=sys.stderr)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
