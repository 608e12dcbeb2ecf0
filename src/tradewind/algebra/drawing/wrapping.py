"""Text in boxes: about how wide it is, and where to break it."""

from __future__ import annotations

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} -`")
_SIGNS = "._/(,-"
BOLD = 1.18
"""How much wider bold text is."""
_WIDE = frozenset("mwMW@%≤≥…—⟦⟧")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a sans-serif font of a size; rather too wide than too narrow, as fonts differ."""
    units = sum(
        0.36 if c in _NARROW else 0.95 if c in _WIDE or ord(c) > 0x2E80 else 0.66 if c.isupper() else 0.59 for c in text
    )
    return units * size * (BOLD if bold else 1.0)


def wrap(text: str, width: float, size: float, lines: int) -> list[str]:
    """Break a text at spaces, and inside words that are too long; an ellipsis stands for what does not fit."""
    found: list[str] = []
    line = ""
    for word in text.split():
        for piece in _pieces(word, width, size):
            joined = f"{line} {piece}" if line else piece
            if not line or text_width(joined, size) <= width:
                line = joined
            else:
                found.append(line)
                line = piece
    found += [line] if line else []
    if len(found) <= lines:
        return found
    cut = found[lines - 1]
    while cut and text_width(cut + "…", size) > width:
        cut = cut[:-1]
    return [*found[: lines - 1], cut.rstrip() + "…"]


def _pieces(word: str, width: float, size: float) -> list[str]:
    """A word, or the parts of it that fit into the width, cut behind a sign where there is one."""
    found = [""]
    for character in word:
        if found[-1] and text_width(found[-1] + character, size) > width:
            cut = max((found[-1].rfind(sign) + 1 for sign in _SIGNS), default=0) or len(found[-1])
            found[-1:] = [found[-1][:cut], found[-1][cut:]]
        found[-1] += character
    return found
