"""Numbers of things, and names, as people write them."""

import pytest

from anbexact._runtime.units import agreeing, counted, number_text, with_article


@pytest.mark.parametrize(("number", "expected"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2700, "2,700 rows")])
def test_counted(number, expected):
    assert counted(number, "row") == expected


@pytest.mark.parametrize(
    ("number", "digits", "expected"),
    [
        (0.0, 4, "0"),
        (12.3456, 4, "12.35"),
        (12345.0, 4, "12,345"),
        (-528_110_818.4, 6, "-528,110,818"),
        (1e6, 6, "1,000,000"),
        (999_999.5, 6, "1,000,000"),
        (2.5e30, 4, "2.5e+30"),
        (float("nan"), 4, "nan"),
    ],
)
def test_numbers_have_all_digits_before_the_point(number, digits, expected):
    assert number_text(number, digits) == expected


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
