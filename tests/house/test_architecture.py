"""The house is as ARCHITECTURE.md says, modules stay small, and planning loads no engine."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tradewind.cli import reference

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "tradewind").rglob("*.py"))
SOFT, HARD, LONGEST_FUNCTION = 300, 450, 60


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src" / "tradewind").glob("*/__init__.py")}


def test_architecture_lists_the_real_packages() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("## Packages")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == packages()


def test_the_import_contract_names_the_real_packages() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.search(r"layers = \[(.*?)\]", text, re.DOTALL)
    assert layers is not None
    assert set(re.findall(r"\w+", re.sub(r"#.*", "", layers[1]))) == packages() | {"errors"}


def test_each_package_says_what_goes_in_and_out() -> None:
    for name in packages():
        text = (
            ast.get_docstring(ast.parse((ROOT / "src" / "tradewind" / name / "__init__.py").read_text("utf-8"))) or ""
        )
        for word in ("In:", "Out:", "Does not:"):
            assert word in text, f"{name} does not say {word}"


def test_generated_tables_are_up_to_date() -> None:
    assert reference.main(["--check"]) == 0, "run ./dev docs"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src" / "tradewind")))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= HARD
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


def test_modules_are_rarely_long() -> None:
    long = [path.name for path in SOURCES if path.read_text(encoding="utf-8").count("\n") > SOFT]
    assert len(long) <= len(SOURCES) // 15, long


_IMPORTS = """
import sys, time
start = time.process_time()
import tradewind
took = time.process_time() - start
heavy = [name for name in ("pyspark", "nats", "pyarrow", "rich", "typer") if name in sys.modules]
print(took, ",".join(heavy))
"""


def test_importing_tradewind_is_quick_and_loads_no_engine() -> None:
    found = [
        subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    assert all(len(words) == 1 for words in found), found  # nothing heavy was named
    assert min(float(words[0]) for words in found) < 0.5
