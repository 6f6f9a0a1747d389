"""Every parameter of every estimator is explained where ``help`` shows it."""

import re
from inspect import cleandoc, isabstract, signature

import pytest

from anbexact import classifiers

ESTIMATORS = [
    estimator
    for name in classifiers.__all__
    if not isabstract(estimator := getattr(classifiers, name)) and estimator.__name__.endswith("Classifier")
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_documented_once(estimator):
    text = cleandoc(estimator.__doc__)
    assert text.count("Parameters\n----------\n") == 1
    section = text.split("Parameters\n----------\n")[1].split("\nAttributes\n---")[0]
    entries = re.findall(r"^(\w+(?:, \w+)*) : .+\n    \S", section, re.MULTILINE)
    documented = [name for entry in entries for name in entry.split(", ")]
    assert sorted(documented) == sorted(signature(estimator).parameters)
