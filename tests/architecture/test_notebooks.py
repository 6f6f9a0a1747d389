"""The scripts that the site shows as notebooks run without an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.py"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(script, tmp_path):
    env = {**os.environ, "MPLBACKEND": "Agg", "ANBEXACT_ROWS": "20_000"}
    path = os.pathsep.join(filter(None, [str(EXAMPLES.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
