"""Numbers of things, and names, as people write them."""

import pytest

from anbexact._runtime.units import agreeing, counted, with_article


@pytest.mark.parametrize(("number", "expected"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2700, "2,700 rows")])
def test_counted(number, expected):
    assert counted(number, "row") == expected


def test_verbs_agree():
    assert [agreeing(number, "is", "are") for number in (0, 1, 2)] == ["are", "is", "are"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TANClassifier", "a TANClassifier"),
        ("AdditiveClassifier", "an AdditiveClassifier"),
        ("int", "an int"),
        ("UniversalMeasure", "a UniversalMeasure"),
    ],
)
def test_articles(name, expected):
    assert with_article(name) == expected
