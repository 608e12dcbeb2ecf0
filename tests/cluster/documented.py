"""The commands of README.md's section on clusters, as a reader types them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_TYPED = re.compile(r"^(?P<machine>[a-z]*)\$ (?P<command>.+)$", re.MULTILINE)
_HERE = ""


def typed() -> list[tuple[str, str]]:
    """The commands, each with the machine at whose prompt it is typed; none is named where there is only one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## A cluster\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    return [(found["machine"], found["command"].strip()) for found in _TYPED.finditer(section[1])]


def on_one_machine() -> list[str]:
    """Those for a single machine."""
    return [command for machine, command in typed() if machine == _HERE]


def on_several() -> list[tuple[str, str]]:
    """Those for several machines."""
    return [(machine, command) for machine, command in typed() if machine != _HERE]
