"""Results that are indexed by rows: a row alone says what the whole says of it."""

import pandas as pd
import pytest
from explained import Case


@pytest.fixture(scope="module", params=["explain_local", "sufficient_reasons"])
def found(request):
    case = Case("naive", seed=2)
    X = case.holed(share=0.2)
    X.index = [f"row {t}" for t in range(len(X))]
    return getattr(case.classifier, request.param)(X)


def of_rows(frame, rows):
    return frame[frame["row"].isin(rows)].reset_index(drop=True)


def test_a_row_alone_says_what_the_whole_says_of_it(found):
    for t in (0, 7, -1):
        alone = found[t]
        assert type(alone) is type(found)
        assert len(alone) == 1
        assert str(alone) == found.text(t if t >= 0 else len(found) + t)
        pd.testing.assert_frame_equal(alone.frame, of_rows(found.frame, [found.rows.index[t]]), check_dtype=False)
        assert alone._repr_html_()


def test_slices(found):
    assert [str(of) for of in found[9:2:-3]] == [found.text(t) for t in (9, 6, 3)]
    assert found[9:2:-3].rows.index == ["row 9", "row 6", "row 3"]
    assert len(found[:0]) == 0
    assert str(found[:0]) == ""


def test_iteration(found):
    assert len(found) == len(found.rows.index)
    assert [str(of) for of in found] == [found.text(t) for t in range(len(found))]


@pytest.mark.parametrize(("place", "error"), [(10**6, IndexError), ("row 3", TypeError), (0.5, TypeError)])
def test_no_such_row(found, place, error):
    with pytest.raises(error):
        found[place]
