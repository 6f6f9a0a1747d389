"""Charts: names of intervals on the axis, values under the pointer, and odds in three digits."""

import html
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anbexact.show.svg.charts import WIDTH, Chart, Line
from anbexact.show.svg.tables import odds_text

NAMES = {
    "short": ["≤ 1", "1 to 2", "2 to 3", "3 to 4", "> 4"],
    "long": ["≤ 1930.5", *(f"{k}.5 to {k + 1}.5" for k in range(1930, 1960)), "> 1960.5"],
    "two that are too long": ["a" * 40, "b" * 40],
    "one": ["all"],
}


def steps(names):
    """A chart of a step per name, the k-th at the height k / 8."""
    points = [(float(x), k / 8) for k in range(len(names)) for x in (k, k + 1)]
    return Chart("a chart", "x", "log odds", [Line("", points)], (0.0, float(len(names))), (0.0, 8.0), None, names)


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_on_the_axis_neither_touch_nor_leave_the_picture(names):
    marks = re.findall(r'<g><title>([^<]*)</title><text x="([\d.]+)"[^>]*>([^<]*)</text></g>', steps(names).svg())
    shown = [html.unescape(name) for name, _, _ in marks]
    assert shown[0] == names[0]
    assert shown[-1] == names[-1]
    wide = [
        (float(x) - 3.6 * len(html.unescape(text)), float(x) + 3.6 * len(html.unescape(text))) for _, x, text in marks
    ]
    assert wide[0][0] >= 0
    assert wide[-1][1] <= WIDTH
    if max(map(len, names)) < 40:  # the names of two intervals are shown in any case
        assert all(end < start for (_, end), (start, _) in pairwise(wide))
    assert len(shown) == {5: 4, 32: 3, 2: 2, 1: 1}[len(names)]


def test_values_under_the_pointer():
    titles = re.findall(r"<rect[^>]*><title>([^<]*)</title>", steps(NAMES["short"]).svg())
    assert [html.unescape(title) for title in titles] == [
        f"{name}\nlog odds: {k / 8:.3g}" for k, name in enumerate(NAMES["short"])
    ]
    curve = Chart("a chart", "predicted", "observed", [Line("TAN", [(0.25, 0.5), (0.75, 1.0)])]).svg()
    assert re.findall(r"<circle[^>]*><title>([^<]*)</title>", curve) == [
        "TAN\npredicted: 0.25\nobserved: 0.5",
        "TAN\npredicted: 0.75\nobserved: 1",
    ]


@given(st.floats(1e-12, 1e12))
def test_odds_have_three_digits(odds):
    text = odds_text(odds).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(odds, rel=0.0051)
    digits = re.sub(r"e.*|[.]", "", text).lstrip("0")
    assert len(digits) == 3 or len(digits) == len(f"{odds:.0f}") > 3
