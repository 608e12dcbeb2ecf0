"""The page that tells a run: the map, what crossed each link, the answers, and whether they are right.

It is one file that needs no network: styles, map and charts are inside, and it has no scripts. It follows the reader's
choice of light or dark, and tables and the map scroll by themselves where a screen is narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from tradewind.apps.cdn.bars import Series, bars
from tradewind.apps.cdn.comparison import Verdict
from tradewind.apps.cdn.story import AnswerStory, Story
from tradewind.placement.map_flows import human

_STYLE = "page.css"


def page(story: Story) -> str:
    """The whole page."""
    style = (files("tradewind.apps.cdn") / _STYLE).read_text(encoding="utf-8")
    parts = [
        _headline(story),
        _section("Is it right?", _verdicts(story.verdicts)),
        _section("Where it ran", f'<div class="map">{story.map_svg}</div>'),
        _section("What crossed each link", _links(story)),
        _section("The answers", "".join(_answer(one) for one in story.answers)),
        _section("The plan", f"<pre>{escape(story.picture)}</pre>"),
        _section("How this was counted", _NOTES),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>A content delivery network on Tradewind</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


_NOTES = """\
<ul>
<li><b>Predicted</b>: what the planner said before the run, from the file's declared statistics alone, times the length
of the logs.</li>
<li><b>Measured</b>: every byte of the messages that crossed the link, commits and headers included.</li>
<li><b>Every row shipped</b>: the same rows, only the columns that the questions read, packed as a channel packs them
(Arrow, zstd, one batch a file), on each link of the cheapest way to where answers are delivered. Not modelled:
packed and counted.</li>
<li><b>Dollars</b>: bytes times the link's price, for thirty days like these minutes.</li>
</ul>
"""


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>\n"


def _headline(story: Story) -> str:
    _, measured, shipped = story.sizes
    _, monthly, shipped_monthly = story.usd_a_month(*story.links)
    facts = [
        (times(shipped, measured), "fewer bytes over the links than with every row shipped"),
        (human(measured, "B"), f"crossed the links, instead of {human(shipped, 'B')}"),
        (f"${human(monthly)}", f"a month at this rate, instead of ${human(shipped_monthly)}"),
        ("yes" if story.right else "NO", "is every answer right, beside plain Spark on all data"),
    ]
    if story.alone is not None:
        own = story.alone.measured if story.alone.measured is not None else story.alone.predicted
        said = "measured" if story.alone.measured is not None else "planned"
        facts.insert(1, (times(story.alone.shipped, own), f"fewer for {story.alone.query} alone, {said}"))
    cards = "".join(f"<li><b>{escape(figure)}</b> {escape(what)}</li>" for figure, what in facts)
    return (
        "<header>\n<h1>A content delivery network on Tradewind</h1>\n"
        f"<p>{story.rows:,} requests in {story.files} files at nine edges; {story.sites} sites; three questions; "
        f"{story.seconds / 60:g} minutes of logs, read in {story.took:,.0f} seconds on one machine that imitates all "
        f'sites and links.</p>\n<ul class="facts">{cards}</ul>\n</header>\n'
    )


def times(more: float, less: float) -> str:
    """How many times one is the other, in words for a reader.

    >>> times(100.0, 8.0), times(5.0, 0.0)
    ('12.5 ×', '∞')
    """
    if less <= 0:
        return "∞"
    ratio = more / less
    return f"{ratio:.0f} ×" if ratio >= 20 else f"{ratio:.3g} ×"


def _verdicts(verdicts: Iterable[Verdict]) -> str:
    lines = "".join(
        f'<li class="{"good" if one.holds else "bad"}">{"✓" if one.holds else "✗"} {escape(one.words())}</li>'
        for one in verdicts
    )
    return f'<ul class="verdicts">{lines}</ul>'


def _links(story: Story) -> str:
    labels = [f"{link.start} → {link.end}" for link in story.links]
    rows = [
        _link_row(label, link.sizes, story.usd_a_month(link)) for label, link in zip(labels, story.links, strict=True)
    ]
    rows.append(_link_row("all links", story.sizes, story.usd_a_month(*story.links)))
    head = (
        "link", "predicted", "measured", "off", "every row shipped", "fewer", "predicted $", "measured $", "shipped $",
    )  # fmt: skip
    names, kinds = ("predicted", "measured", "every row shipped"), ("predicted", "measured", "shipped")
    predicted, measured, shipped = (
        _series(name, kind, [link.sizes[place] for link in story.links])
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    charts = bars("Predicted and measured", labels, [predicted, measured])
    charts += bars("Beside every row shipped", labels, [measured, shipped])
    return f'{_table(head, rows, (False, *(True,) * 8))}\n<div class="charts">{charts}</div>'


def _link_row(name: str, sizes: Sequence[float], usd: Sequence[float]) -> tuple[str, ...]:
    predicted, measured, shipped = sizes
    off = f"{measured / predicted - 1:+.0%}" if predicted else "–"
    less = times(shipped, measured)
    return (name, *(human(s, "B") for s in (predicted, measured)), off, human(shipped, "B"), less,
            *map(human, usd))  # fmt: skip


def _series(name: str, kind: str, values: Sequence[float]) -> Series:
    return Series(name, kind, values, [human(value, "B") for value in values])


def _answer(answer: AnswerStory) -> str:
    rest = answer.total - len(answer.rows)
    more = f"<p>and {rest:,} rows more</p>" if rest > 0 else ""
    table = _table(answer.columns, answer.rows, answer.numeric)
    return f"<h3>{escape(answer.question)} <code>{escape(answer.query)}</code></h3>\n{table}{more}\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A table that scrolls by itself; numbers stand right."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        kinds = (' class="number"' if right else "" for right in numeric)
        return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, texts, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>\n" for row in rows)
    return (
        f'<div class="wide" tabindex="0"><table>\n<thead><tr>{cells("th", head)}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )
