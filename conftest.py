"""Which files pytest looks into, in the package and in tests alike."""

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Modules that hold neither tests nor examples are not loaded: most of the package, and the helpers of tests."""
    if collection_path.suffix != ".py" or collection_path.name.startswith("test_"):
        return None
    return True if ">>> " not in collection_path.read_text() else None
