"""Files that version 0.1 saved are read, and predict what they predicted then.

``files_of_0_1`` holds, for each of some classifiers, the file that ``save`` wrote, and one with rows, some of whose
cells are missing or no states, and the posterior of their classes, as hexadecimal floats:

- ``anb``: 30 features, cut columns, missing cells as a state, and a certificate with a proof by cases;
- ``aode``: grouped categories, booleans, numbers as states, real-valued weights;
- ``fsanb``: ordered categories, features that were removed, real-valued weights;
- ``refitted``: a tree, and its refit;
- ``tan_universal``: measured columns.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anbexact

FOLDER = Path(__file__).parent / "files_of_0_1"
ESTIMATORS = {
    "anb": "ANBClassifier",
    "aode": "AODEClassifier",
    "fsanb": "FSANBClassifier",
    "refitted": "RefittedClassifier",
    "tan_universal": "TANClassifier",
}


def test_every_file_is_read():
    assert {path.name.partition(".")[0] for path in FOLDER.iterdir()} == set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_old_file_predicts_as_it_did(name, tmp_path):
    """So does what is saved again. Logarithms are compared, as many probabilities are tiny."""
    expected = json.loads((FOLDER / f"{name}.expected.json").read_text())
    rows = pd.DataFrame(expected["rows"], columns=expected["columns"])
    posterior = np.array([[float.fromhex(number) for number in row] for row in expected["posterior"]])
    classifier = anbexact.load(FOLDER / f"{name}.json")
    classifier.save(tmp_path / "again.json")
    for read in (classifier, anbexact.load(tmp_path / "again.json")):
        assert type(read).__name__ == ESTIMATORS[name]
        assert read.classes_.tolist() == expected["classes"]
        assert np.allclose(np.log(read.predict_proba(rows)), np.log(posterior), rtol=1e-12, atol=1e-12)


def test_an_old_proof_is_read():
    structure = anbexact.load(FOLDER / "anb.json").structure_
    assert structure.certificate.optimal
    assert {type(component.case).__name__ for component in structure.certificate.proof.components} == {
        "Duals",
        "Exhaustion",
    }
