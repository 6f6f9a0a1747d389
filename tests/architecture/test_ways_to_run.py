"""The package works however it is started: installed or not, from the project's folder or from elsewhere."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import anbexact

PROJECT = Path(__file__).parents[2]
LIBRARIES = sysconfig.get_path("purelib")
USES = """
import sys
import anbexact, anbexact.adapters, anbexact.datasets
assert not {"matplotlib", "pgmpy", "sklearn.datasets", "statsmodels"} & set(sys.modules)
from anbexact.adapters import to_logit, to_pgmpy
from anbexact.adapters.pgmpy.networks import from_pgmpy
from anbexact.datasets import load_monks
classifier = anbexact.NaiveBayesClassifier().fit(*load_monks(1))
assert to_logit(classifier).equivalent
assert "adapters" in anbexact.adapters.__file__
print(anbexact.__file__)
"""


def run(arguments, folder, path):
    """Run Python without site's .pth files, which a developer's installation consists of; return what it prints."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, path), LIBRARIES]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-S", *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="installed")
def _installed(tmp_path_factory):
    """Return a folder with the package as ``pip install`` lays it out, and with what was compiled of it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PROJECT / "anbexact", folder / "anbexact")
    shutil.rmtree(folder / "anbexact" / "adapters")
    shutil.copytree(PROJECT / "adapters", folder / "anbexact" / "adapters")
    return folder


@pytest.mark.slow
def test_in_the_projects_folder():
    assert run(["-c", USES], PROJECT, []).strip() == str(PROJECT / "anbexact" / "__init__.py")


@pytest.mark.slow
def test_in_the_projects_folder_which_hides_an_installed_package(installed):
    assert run(["-c", USES], PROJECT, [installed]).strip() == str(PROJECT / "anbexact" / "__init__.py")


@pytest.mark.slow
def test_installed(installed, tmp_path):
    assert run(["-c", USES], tmp_path, [installed]).strip() == str(installed / "anbexact" / "__init__.py")


@pytest.mark.slow
def test_beside_the_examples(installed):
    assert run(["-c", USES], PROJECT / "examples", [installed]).strip() == str(installed / "anbexact" / "__init__.py")


@pytest.mark.slow
@pytest.mark.parametrize("folder", [PROJECT, PROJECT / "examples"], ids=["project", "examples"])
def test_as_a_command(folder, installed):
    assert run(["-m", "anbexact", "--version"], folder, [installed]) == f"anbexact {anbexact.__version__}\n"
