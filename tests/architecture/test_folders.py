"""The folders of tests are those of the package."""

from pathlib import Path

from sources import SOURCES

TESTS = Path(__file__).parents[1]
OTHERS = {"architecture", "benchmarks", "fuzz"}
"""What is tested here besides packages: the package as a whole, the benchmarks, and input that is drawn at random."""


def test_folders_mirror_the_packages():
    packages = {
        "/".join(module.split(".")[1:]) for module, path in SOURCES.items() if path.name == "__init__.py"
    } | OTHERS
    strays = [str(path) for path in TESTS.rglob("test_*.py") if str(path.parent.relative_to(TESTS)) not in packages]
    assert not strays
