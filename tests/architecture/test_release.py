"""What a release says in several files is the same in all of them."""

import re
import tomllib
from pathlib import Path

import anbexact

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "tools" / "conda" / "meta.yaml").read_text(encoding="utf-8")


def test_versions():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = {
        "package": anbexact.__version__,
        "recipe": re.search(r'set version = "(.*?)"', RECIPE)[1],
        "citation": re.search(r"^version: (.*)$", citation, re.MULTILINE)[1],
    }
    assert found == dict.fromkeys(found, PROJECT["version"])


def test_dependencies_of_the_conda_recipe():
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    wanted = ["python" + PROJECT["requires-python"], *PROJECT["dependencies"]]
    assert sorted(line.strip(" -").replace(" ", "") for line in run.splitlines()) == sorted(wanted)
