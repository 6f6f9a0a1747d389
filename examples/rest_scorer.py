"""A JSON model behind FastAPI, whose requests are checked against the vocabulary.

    anbexact fit table.csv --class outcome --output model.json
    pip install anbexact fastapi uvicorn
    ANBEXACT_MODEL=model.json uvicorn rest_scorer:app --app-dir examples

POST a row to /predict: {"age": 61, "smoker": "yes"}. Features that are left out are summed out, and so is null,
unless missing cells are a state of the feature. A value that is not a state, or a name that is not a feature, is
answered by 422 and the reason. The schema is at /docs.
"""

import os
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import ConfigDict, Field, create_model

import anbexact


def row_model(classifier: Any) -> type[Any]:
    """Return the type of a request: a number for every column that was cut, one of its values for every other."""
    fields: dict[str, Any] = {}
    for j, name in enumerate(classifier.vocabulary_.features):
        cut = name in classifier.cut_points_
        kind = float if cut else Literal[(*classifier.vocabulary_.values(name), None)]
        fields[f"column_{j}"] = (kind | None, Field(None, alias=str(name)))
    return create_model("Row", __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields)


def make_app(classifier: Any) -> FastAPI:
    """Return the service of a fitted classifier."""
    app = FastAPI(title=f"Prediction of {classifier.vocabulary_.class_name}")

    @app.post("/predict")
    def predict(row: row_model(classifier)) -> dict[str, Any]:  # type: ignore[valid-type]
        vocabulary, known = classifier.vocabulary_, {}
        for j, name in enumerate(vocabulary.features):
            value = getattr(row, f"column_{j}")
            if value is not None or (f"column_{j}" in row.model_fields_set and name in vocabulary.own_missing):
                known[name] = value
        posterior = classifier.query(known)
        return {"prediction": posterior.idxmax(), "probabilities": {str(c): p for c, p in posterior.items()}}

    return app


if "ANBEXACT_MODEL" in os.environ:
    app = make_app(anbexact.load(os.environ["ANBEXACT_MODEL"]))
