"""Network files for other programs: every name comes back, every posterior too, and what does not fit is refused."""

import datetime
import gzip
import json
import os
import random
import re
import shutil
import warnings
from decimal import Decimal
from itertools import islice, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pgmpy.readwrite import BIFReader, BIFWriter, XDSLReader, XMLBIFReader
from sklearn.exceptions import NotFittedError
from tiers import examples

from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.adapters import from_file, from_pgmpy, to_file
from anbexact.adapters.files import network_files as exchange
from anbexact.adapters.files.safe_names import LONGEST, RESERVED, safe_names
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.files.document import digest
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.vocabulary import Vocabulary

EXTENSIONS = ("bif", "xmlbif", "xdsl")
AWKWARD = [
    "", " ", "_", "a b", "a_b", "A_B", "a,b", "a, b", "(1.5, 3.0]", "(-inf, 2]", "(2, inf)", "[1, 2)", "<5", "<=5",
    ">5", "≥5", "%", "-1", "--1", "&", "a&b", '"quoted"', "it's", "\n", "a\nb", "\t", "naïve", "变量", "变", "😀",
    "\ud800", "\x00", "probability", "variable", "Variable", "network", "property", "type", "discrete", "table",
    "default", "table1", "tablee", "timetable1", "defaultE", "default2", "Table1", "{", "}", "};", "( a )", "|", ";",
    "//", "/*", "*/", "#", "<NAME>", "&amp;", "]]>", "state", "nan", "None", "True", "x", "x0", "v", "v_2",
    "empty", "1e5", "e", "E1", "x" * 300, "x" * 301, "y" * 59 + " 1", "y" * 59 + " 2", "a" * 61,
    0, 1, -1, 10**30, 1.5, -1.5, 5e-324, 1e-5, float("inf"), float("-inf"), True, False, (1, "a"), (1, 2), ("a",),
    datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12), Decimal("1.10"), b"\x00\xff",
    pd.Timestamp("2024-01-01"), pd.Interval(1.5, float("inf")), pd.Interval(1, 2, closed="both"), frozenset({1}),
]  # fmt: skip
values = (
    st.sampled_from(AWKWARD)
    | st.text(max_size=6)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.dates()
    | st.tuples(st.text(max_size=2), st.integers())
)


def same(a, b):
    """Whether two values are equal and of one type, members included."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def make(states, parents, class_name, seed=0, tables=None):
    """Return a classifier with random tables; the states of the class sorted, as `from_pgmpy` has them."""
    rng = np.random.default_rng(seed)
    if tables is None:
        tables = {}
        for name, of_name in parents.items():
            shape = [len(states[parent]) for parent in of_name]
            cells = rng.dirichlet(np.full(len(states[name]), 0.3), shape)
            tables[name] = np.moveaxis(cells, -1, 0)
    vocabulary = Vocabulary({name: tuple(of_name) for name, of_name in states.items()}, class_name)
    tables = {name: ConditionalTable(name, tuple(parents[name]), np.array(cells)) for name, cells in tables.items()}
    structure = Structure.given(class_name, {name: tuple(of_name) for name, of_name in parents.items()}, 0.0)
    network = TableNetwork(vocabulary=vocabulary, cut_points={}, structure=structure, tables=tables)
    named = all(isinstance(name, str) for name in vocabulary.features)
    return FixedStructureClassifier.from_network(network, feature_names=vocabulary.features if named else None)


def all_rows(classifier, limit=200):
    """Return rows of all joint states of the features, as far as ``limit``, and one without any value."""
    features = classifier.vocabulary_.features
    rows = list(islice(product(*(classifier.vocabulary_.states[feature] for feature in features)), limit))
    columns = [pd.Series([*cells, None], dtype=object) for cells in zip(*rows, strict=True)]
    X = pd.concat(columns, axis=1)
    X.columns = pd.Index(features, dtype=object, tupleize_cols=False)
    return X


def posterior(classifier, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that the network says are impossible, of columns without names
        return classifier.predict_proba(X)


def assert_equal(back, classifier, X=None):
    """Names, types, orders, tables and posteriors are the same."""
    ours, theirs = classifier.vocabulary_, back.vocabulary_
    assert all(map(same, theirs.names, ours.names))
    assert theirs.class_name == ours.class_name
    for name in ours.names:
        assert same(theirs.states[name], ours.states[name])
        assert back.conditional_tables_[name].variables == classifier.conditional_tables_[name].variables
        cells = classifier.conditional_tables_[name].values
        np.testing.assert_allclose(back.conditional_tables_[name].values, cells, rtol=1e-12, atol=0)
    assert {k: v.tolist() for k, v in back.cut_points_.items()} == {
        k: v.tolist() for k, v in classifier.cut_points_.items()
    }
    assert same(tuple(back.classes_.tolist()), tuple(classifier.classes_.tolist()))
    assert back.classes_.dtype == classifier.classes_.dtype
    assert back.n_features_in_ == classifier.n_features_in_
    assert hasattr(back, "feature_names_in_") == hasattr(classifier, "feature_names_in_")
    if X is None:
        X = all_rows(classifier)
    np.testing.assert_allclose(posterior(back, X), posterior(classifier, X), rtol=0, atol=1e-8)
    assert back.to_pgmpy().check_model() if all(isinstance(name, str) for name in ours.names) else True


def through(classifier, folder, extension):
    path = folder / f"model.{extension}"
    to_file(classifier, path)
    assert sorted(p.name for p in folder.iterdir()) == [path.name, f"{path.name}.names.json"]
    return from_file(path)


def reversed_numbers(match):
    """Turn a list of numbers round: another table of probabilities."""
    return " ".join(reversed(match[0].split()))


def monks(estimator=None):
    X, y = load_monks(1)
    return (estimator or ANBClassifier()).fit(X, y), X


class TestSafeNames:
    @examples(200)
    @given(st.lists(values, max_size=12), st.sampled_from("xv"))
    def test_are_identifiers_that_differ_in_more_than_case(self, given_values, first):
        names = safe_names(given_values, first)
        assert len({name.lower() for name in names}) == len(names) == len(given_values)
        for value, name in zip(given_values, names, strict=True):
            assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name)
            assert len(name) <= LONGEST
            assert name.lower() not in RESERVED
            assert not re.search("(table|default)[0-9eE]", name)
            if str(value) == name:  # such a name is kept, unless an equal one but for case came before
                assert safe_names([value], first) == [name]

    def test_of_a_list_of_all(self):
        names = safe_names(AWKWARD, "v")
        assert len({name.lower() for name in names}) == len(AWKWARD)
        kept = ["a_b", "state", "nan", "None", "x", "x0", "v", "v_2", "empty", "e", "E1", "Table1"]
        assert set(kept) < set(names)

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("petal length (cm)", "petal_length_cm"),
            (-1, "minus_1"),
            (-1.5, "minus_1_5"),
            (1e-5, "v1e_minus_05"),
            ("(3.1, 4.7]", "from_3_1_to_4_7"),
            ("(-inf, 3.1]", "up_to_3_1"),
            ("(-inf, -3.1]", "up_to_minus_3_1"),
            ("(4.7, inf)", "above_4_7"),
            ("(-inf, inf)", "any_number"),
            ((1, 2), "v1_2"),
            ("<5", "below_5"),
            ("100 %", "v100_percent"),
            ("R&D", "R_and_D"),
            ("2024-01-31", "v2024_01_31"),
            ("Zürich", "Zurich"),
            ("defaulted", "Defaulted"),
            ("table", "table_"),
            (True, "True"),
            (pd.Interval(1, 2, closed="left"), "from_1_to_2"),
        ],
        ids=repr,
    )
    def test_read_like_the_value(self, value, expected):
        assert safe_names([value], "v") == [expected]

    @pytest.mark.slow
    def test_many_that_look_alike(self):
        names = safe_names(["变" * (k + 1) for k in range(20_000)], "v")
        assert names[:2] == ["v", "v_2"]
        assert len(set(names)) == 20_000


class TestRoundTrip:
    @pytest.mark.parametrize("extension", EXTENSIONS)
    @examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_any_names_and_states(self, extension, data, tmp_path_factory):
        """Nothing is refused: every name and state here is of a kind that `encode` knows."""
        names = data.draw(st.lists(values, min_size=2, max_size=5, unique=True))
        states = {name: data.draw(st.lists(values, min_size=1, max_size=4, unique=True)) for name in names}
        labels = values.filter(lambda value: not isinstance(value, tuple))
        classes = data.draw(st.lists(labels, min_size=1, max_size=4, unique=True))
        states[names[-1]] = [classes[i] for i in sorted_positions(classes)]
        order = data.draw(st.permutations(names))
        parents = {
            name: [parent for parent in order[: order.index(name)] if data.draw(st.booleans())] for name in names
        }
        classifier = make(states, parents, names[-1], seed=data.draw(st.integers(0, 99)))
        folder = tmp_path_factory.mktemp("exchange")
        assert_equal(through(classifier, folder, extension), classifier)

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_all_awkward_names_and_states_at_once(self, extension, tmp_path):
        """Each awkward value is the name of a feature, and all are states of one."""
        distinct = list(dict.fromkeys(AWKWARD))
        states = {name: [name, "other"] if name != "other" else ["other"] for name in distinct}
        states |= {"all of them": distinct, "class": ["no", "yes"]}
        parents = {name: ["class"] for name in states} | {"class": []}
        classifier = make(states, parents, "class")
        X = all_rows(classifier, limit=1)
        assert_equal(through(classifier, tmp_path, extension), classifier, X)

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_fitted(self, extension, tmp_path):
        for number, (estimator, (X, y)) in enumerate(
            [
                (ANBClassifier(), load_iris()),
                (ANBClassifier(max_parents=3), load_monks(2)),
                (NaiveBayesClassifier(handle_missing="own_state"), load_anes96()),
                (NaiveBayesClassifier(ess=1e-9, handle_unknown="error"), load_anes96()),
            ]
        ):
            X, weights = X.copy(), np.random.default_rng(0).gamma(1.0, size=len(X)).round(2)
            if estimator.handle_missing == "own_state":
                X.loc[::7, ["PID", "age"]] = np.nan
            classifier = estimator.fit(X, y, weights)
            (folder := tmp_path / str(number)).mkdir()
            back = through(classifier, folder, extension)
            assert_equal(back, classifier, X)
            assert back.get_params()["handle_missing"] == classifier.handle_missing
            assert back.get_params()["handle_unknown"] == classifier.handle_unknown
            if classifier.cut_points_:
                assert_equal(back, classifier, X.astype(float) + 0.01 if "age" not in X else X)

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_other_tables(self, extension, tmp_path):
        X, y = load_iris()
        for number, table in enumerate(
            [X.to_numpy(), X.set_axis([3, 1, 2, 0], axis=1), X.set_axis([0, 1, 2, 3], axis=1)]
        ):
            classifier = NaiveBayesClassifier().fit(table, np.asarray(y) == "setosa")
            (folder := tmp_path / str(number)).mkdir()
            back = through(classifier, folder, extension)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                np.testing.assert_allclose(back.predict_proba(table), classifier.predict_proba(table), atol=1e-8)
            assert_equal(back, classifier, table)
            assert back.classes_.dtype == bool

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_tiny_probabilities_keep_their_ratio(self, extension, tmp_path):
        tables = {"c": [0.5, 0.5], "x": [[1e-300, 1e-299], [1e-18, 3e-18], [1 - 1e-18, 1 - 3e-18], [0.0, 0.0]]}
        classifier = make({"x": "abcd", "c": "ny"}, {"x": ["c"], "c": []}, "c", tables=tables)
        back = through(classifier, tmp_path, extension)
        np.testing.assert_allclose(posterior(back, pd.DataFrame({"x": ["a"]})), [[1 / 11, 10 / 11]], atol=1e-12)
        assert_equal(back, classifier, pd.DataFrame({"x": list("abc")}))

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_class_with_parents(self, extension, tmp_path):
        states = {"a": (1, 0), "b": ("only",), "d": (0.5, 0.25, 2), "c": (False, True)}
        parents = {"d": (), "a": ("d",), "c": ("d", "a", "b"), "b": ("a",)}
        classifier = make(states, {name: parents[name] for name in states}, "c")
        assert_equal(through(classifier, tmp_path, extension), classifier)

    @pytest.mark.slow
    def test_large_table(self, tmp_path):
        """XMLBIF by pgmpy alone would take minutes, and XDSL lose digits."""
        states = {"a": range(60), "b": range(60), "c": range(60)}
        classifier = make(states, {"a": ("c",), "b": ("a", "c"), "c": ()}, "c")
        X = pd.DataFrame({"a": range(60), "b": range(60)})
        for extension in ("xml", "xdsl"):
            to_file(classifier, tmp_path / f"m.{extension}")
            assert_equal(from_file(tmp_path / f"m.{extension}"), classifier, X)


class TestTheFiles:
    def test_readable_and_plain(self, tmp_path):
        X, y = load_iris()
        X = X.set_axis(["sepal length (cm)", "Breite", "petal_länge", "%"], axis=1)
        classifier = ANBClassifier().fit(X, y)
        to_file(classifier, tmp_path / "iris.BIF")
        text = (tmp_path / "iris.BIF").read_text("ascii")
        assert re.findall(r"variable (\S+) {", text) == sorted(
            ["sepal_length_cm", "Breite", "petal_lange", "percent", y.name], key=str
        )
        to_file(classifier, tmp_path / "iris.xdsl")
        assert '<cpt id="petal_lange">' in (tmp_path / "iris.xdsl").read_text("ascii")
        to_file(classifier, tmp_path / "iris.xml")
        assert "<PROPERTY>position = (" in (tmp_path / "iris.xml").read_text("ascii")
        assert not re.search(r"<PROPERTY ?/>", (tmp_path / "iris.xml").read_text("ascii"))
        document = json.loads((tmp_path / "iris.BIF.names.json").read_text("ascii"))
        assert (document["format"], document["format_version"]) == ("anbexact names", 1)
        assert document["class"] == y.name
        assert [variable["name"] for variable in document["variables"]] == [*X, y.name]

    @pytest.mark.slow
    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_pgmpy_reads_the_same_network(self, extension, tmp_path):
        classifier, X = monks()
        to_file(classifier, tmp_path / f"m.{extension}")
        reader = {"bif": BIFReader, "xmlbif": XMLBIFReader, "xdsl": XDSLReader}[extension]
        network = reader(str(tmp_path / f"m.{extension}")).get_model()
        assert network.check_model()
        if extension == "xdsl":
            assert list(network.nodes) == list(classifier.vocabulary_.names)
        strings = from_pgmpy(network, "is_monk")
        np.testing.assert_allclose(
            strings.predict_proba(X.astype(str)[list(strings.vocabulary_.features)]), classifier.predict_proba(X)
        )

    def test_the_same_each_time_and_no_trace_in_the_random_state(self, tmp_path):
        classifier, _ = monks()
        random.seed(5)
        before = random.getstate()
        for extension in EXTENSIONS:
            texts = []
            for _ in range(2):
                to_file(classifier, tmp_path / f"m.{extension}")
                texts.append((tmp_path / f"m.{extension}").read_bytes())
            assert texts[0] == texts[1]
        assert random.getstate() == before

    def test_the_classifier_is_not_changed(self, tmp_path):
        classifier, _ = monks()
        before = {name: table.values.copy() for name, table in classifier.conditional_tables_.items()}
        to_file(classifier, tmp_path / "m.xdsl")
        for name, cells in before.items():
            assert np.array_equal(classifier.conditional_tables_[name].values, cells)
        assert not classifier.network_.name

    def test_paths(self, tmp_path, monkeypatch):
        classifier, X = monks()
        monkeypatch.chdir(tmp_path)
        to_file(classifier, "m.bif")
        assert from_file("m.bif").predict(X).tolist() == classifier.predict(X).tolist()
        (tmp_path / "link.bif").symlink_to("m.bif")
        to_file(classifier, "link.bif")
        assert (tmp_path / "link.bif").is_symlink()
        assert_equal(from_file("link.bif"), classifier, X)
        (tmp_path / "plain").touch()
        assert (tmp_path / "m.bif").stat().st_mode == (tmp_path / "plain").stat().st_mode


class TestNotWritten:
    def test_refused(self, tmp_path):
        classifier, X = monks()
        for name in ("m.json", "m", "m.net", "m.bif.gz"):
            with pytest.raises(
                ValueError, match=r"known extensions, \.bif \(BIF\), .*\.xdsl.*ANBClassifier\.save writes"
            ):
                to_file(classifier, tmp_path / name)
        with pytest.raises(NotFittedError):
            to_file(ANBClassifier(), tmp_path / "m.bif")
        with pytest.raises(TypeError, match="takes a classifier of anbexact, not a DataFrame"):
            to_file(X, tmp_path / "m.bif")
        with pytest.raises(FileNotFoundError):
            to_file(classifier, tmp_path / "nowhere" / "m.bif")
        odd = make({"x": (1j, 2j), "c": "ab"}, {"x": ("c",), "c": ()}, "c")
        with pytest.raises(
            TypeError, match=r"cannot save a state of column 'x': a builtins.complex cannot be written"
        ):
            to_file(odd, tmp_path / "m.bif")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("extension", EXTENSIONS)
    @pytest.mark.parametrize("step", [1, 2, 3])
    @pytest.mark.parametrize("older", [True, False])
    def test_failure_leaves_the_older_pair(self, extension, step, older, tmp_path, monkeypatch):
        """Step 1 makes the draft of the names, 2 puts the network in its place, 3 the names."""
        classifier, _ = monks()
        path = tmp_path / f"m.{extension}"
        if older:
            to_file(NaiveBayesClassifier().fit(*load_monks(2)), path)
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        replace, calls = os.replace, []

        def failing(source, target):
            calls.append(target)
            if len(calls) == step:
                raise OSError("disk on fire")
            replace(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", failing)
            with pytest.raises(OSError, match="disk on fire"):
                to_file(classifier, path)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before

    def test_names_in_xdsl_have_no_blanks_at_their_ends(self, tmp_path):
        """Nor have they in the other formats."""
        to_file(monks()[0], tmp_path / "m.xdsl")
        text = (tmp_path / "m.xdsl").read_text()
        edited = re.sub(r'<(state|cpt) id="([^"]*)"', r'<\1 id=" \2\n"', text)
        assert edited != text
        (tmp_path / "blanks.xdsl").write_text(edited)
        plain, blanks = (from_file(tmp_path / f"{name}.xdsl", "is_monk") for name in ("m", "blanks"))
        assert plain.vocabulary_ == blanks.vocabulary_

    def test_full_disk(self, tmp_path, monkeypatch):
        classifier, _ = monks()
        to_file(NaiveBayesClassifier().fit(*load_monks(2)), tmp_path / "m.xdsl")
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            to_file(classifier, tmp_path / "m.xdsl")
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda text: text.replace("red", "rot"), "names of variables or states differ"),
            (lambda text: text.replace("holding", "held"), "names of variables or states differ"),
            (lambda text: text.replace("<parents>is_monk</parents>", "", 1), "where its states require 3"),
            (
                lambda text: re.sub(r"0\.(\d)", lambda digit: f"0.{(int(digit[1]) + 1) % 10}", text, count=1),
                "sum to 1",
            ),
            (
                lambda text: re.sub("(?<=ities>).*?(?=<)", reversed_numbers, text),
                "probabilities of .* differ",
            ),
            (lambda text: text[:-20], "not well-formed XML"),
        ],
    )
    def test_what_pgmpy_reads_back_otherwise(self, change, message, tmp_path, monkeypatch):
        classifier, _ = monks(NaiveBayesClassifier())
        (tmp_path / "m.xdsl").write_text("older")
        written = exchange._written
        monkeypatch.setattr(exchange, "_written", lambda *arguments: change(written(*arguments)))
        with pytest.raises(ValueError, match=rf"cannot write .*m\.xdsl: .*{message}.* Nothing was written"):
            to_file(classifier, tmp_path / "m.xdsl")
        assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("m.xdsl", "older")]

    def test_memory(self, tmp_path, monkeypatch):
        classifier, _ = monks()
        to_file(classifier, tmp_path / "m.bif")
        monkeypatch.setattr(exchange, "available_memory", lambda: 1000)
        message = r"writing [1-9]\d+ probabilities as BIF to .* and 1 kB are available: XMLBIF and XDSL need less; or"
        with pytest.raises(MemoryError, match=message):
            to_file(classifier, tmp_path / "n.bif")
        with pytest.raises(MemoryError, match=r"would be needed to read .* of BIF, but 1 kB are available"):
            from_file(tmp_path / "m.bif")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["m.bif", "m.bif.names.json"]


DOG = """// a file as other programs write them\r
network "dog-problem" { property "version 1.1" ; }\r
/* variable ghost */
variable "light-on" { //2 values
    type discrete[2] { "true" "false" };
    property "position = (218, 195)" ;
}
variable family {
  type discrete [ 3 ] { none, one or two, many };
} \t
probability ( "light-on" | family ) {
  (none) 0.05, 0.95;
  (one or two) 6e-1, 4.0E-1;
  (many) 1, 0;
}
probability ( family ) {
  table 0.2, 0.5, 0.3 ;
}"""
FAMILY = DOG[DOG.index("variable family") : DOG.index("probability")]
WEKA = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE BIF [
    <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
    <!ELEMENT NAME (#PCDATA)>
]>
<BIF VERSION="0.3" xmlns="">
<NETWORK>
<NAME>zoo</NAME>
<VARIABLE TYPE="nature"><NAME>größe</NAME><OUTCOME>klein</OUTCOME><OUTCOME>groß</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY></VARIABLE>
<VARIABLE TYPE="nature"><NAME>type</NAME><OUTCOME>b</OUTCOME><OUTCOME>a</OUTCOME></VARIABLE>
<DEFINITION><FOR>größe</FOR><GIVEN>type</GIVEN>
<TABLE> <!-- klein groß --> 0.25 0.75
0.5 0.5 </TABLE></DEFINITION>
<DEFINITION><FOR>type</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK>
</BIF>"""
ZOO = WEKA.replace("ISO-8859-1", "utf-8")
GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Network1" numsamples="1000" discsamples="10000">
	<nodes>
		<cpt id="Forecast">
			<state id="Good" />
			<state id="Poor" />
			<probabilities>0.4 0.6</probabilities>
		</cpt>
		<cpt id="Success">
			<state id="Yes" />
			<state id="No" />
			<parents>Forecast</parents>
			<probabilities>0.9 0.1 0.2 0.8</probabilities>
		</cpt>
	</nodes>
	<extensions><genie version="1.0" app="GeNIe" name="Network1" /></extensions>
</smile>"""


class TestFilesOfOthers:
    def test_bif(self, tmp_path):
        (tmp_path / "dog.bif").write_bytes(DOG.encode())
        classifier = from_file(tmp_path / "dog.bif", "family")
        assert classifier.classes_.tolist() == ["many", "none", "one or two"]
        expected = np.array([0.3, 0.2 * 0.05, 0.5 * 0.6])
        np.testing.assert_allclose(classifier.predict_proba([["true"]])[0], expected / expected.sum())

    def test_bif_in_one_line_with_a_default(self, tmp_path):
        """Where lines end and in which order blocks stand does not matter; pgmpy loses blocks of this file."""
        text = """probability(wet|rain){default 0.2,0.8;(yes) .9 .1;}variable rain{type discrete[2]{yes no};}
        probability(rain){table 1/* certain */0;}variable Wet{type discrete[2]{"yes",no};}"""
        (tmp_path / "m.bif").write_text(text)
        classifier = from_file(tmp_path / "m.bif", "rain")
        assert classifier.conditional_tables_["Wet"].values.tolist() == [[0.2, 0.9], [0.8, 0.1]]

    def test_xmlbif(self, tmp_path):
        (tmp_path / "zoo.xml").write_bytes(WEKA.encode("latin-1"))
        classifier = from_file(tmp_path / "zoo.xml", "type")
        assert classifier.vocabulary_.states == {"größe": ("klein", "groß"), "type": ("a", "b")}
        np.testing.assert_allclose(classifier.predict_proba([["klein"]]), [[2 / 3, 1 / 3]])

    def test_xdsl(self, tmp_path):
        (tmp_path / "s.xdsl").write_text(GENIE)
        classifier = from_file(tmp_path / "s.xdsl", "Forecast")
        np.testing.assert_allclose(classifier.predict_proba([["Yes"]]), [[0.75, 0.25]])

    def test_gzip(self, tmp_path):
        (tmp_path / "dog.bif.gz").write_bytes(gzip.compress(DOG.encode()))
        expected = from_file(tmp_path / "dog.bif.gz", "family").predict_proba([["true"]])
        (tmp_path / "dog.BIF.GZ").write_text(DOG)  # unpacked on the way, as browsers do
        assert np.array_equal(from_file(tmp_path / "dog.BIF.GZ", "family").predict_proba([["true"]]), expected)
        classifier, X = monks()
        to_file(classifier, tmp_path / "m.xdsl")
        content = (tmp_path / "m.xdsl").read_bytes()
        (tmp_path / "m.xdsl").unlink()
        (tmp_path / "m.xdsl.gz").write_bytes(gzip.compress(content))
        assert_equal(from_file(tmp_path / "m.xdsl.gz"), classifier, X)
        for damaged in (gzip.compress(content)[:-9], gzip.compress(content)[:12], b"\x1f\x8b rubbish"):
            (tmp_path / "m.xdsl.gz").write_bytes(damaged)
            with pytest.raises(
                ValueError, match=r"m\.xdsl\.gz is not a valid XDSL file.*compression by gzip is damaged"
            ):
                from_file(tmp_path / "m.xdsl.gz")

    def test_the_class_must_be_named(self, tmp_path):
        (tmp_path / "s.xdsl").write_text(GENIE)
        with pytest.raises(ValueError, match=r"pass class_name=, one of \['Forecast', 'Success'\]"):
            from_file(tmp_path / "s.xdsl")
        with pytest.raises(
            ValueError, match=r"s\.xdsl: class_name: 'Failure' is not a node.*\['Forecast', 'Success'\]"
        ):
            from_file(tmp_path / "s.xdsl", "Failure")

    def test_a_class_alone(self, tmp_path):
        """Nothing to classify by: written for other programs, but no classifier when read."""
        alone = make({"c": "ab"}, {"c": ()}, "c")
        for extension in EXTENSIONS:
            to_file(alone, tmp_path / f"m.{extension}")
            with pytest.raises(ValueError, match=r"m\.\w+: the network has no node except the class"):
                from_file(tmp_path / f"m.{extension}")

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("m.bif", "", "it is empty"),
            ("m.xml", " \n", "it is empty"),
            ("m.xdsl", "", "it is empty"),
            ("m.bif", "a,b\n1,2\n", "line 1: 'network' or .* was expected, not 'a'"),
            ("m.bif", GENIE, "line 1: 'network' or .* was expected"),
            ("m.bif", "\x80\x04pickle", "line 1: 'network' or .* was expected"),
            ("m.xml", DOG, "not well-formed XML"),
            ("m.xml", GENIE, "outermost element is 'smile'"),
            ("m.xdsl", ZOO, "outermost element is 'BIF'"),
            ("m.xml", "<BIF><NETWORK><NAME>n</NAME></NETWORK></BIF>", "it does not declare any variables"),
            ("m.xdsl", "<smile id='n'><nodes/></smile>", "it does not declare any variables"),
            ("m.xdsl", GENIE.replace("<nodes>", "<nodes><utility id='u'/><noisymax id='d'/>"), "noisymax, utility"),
            ("m.xdsl", GENIE.replace("0.9 0.1 0.2", "0.9 0.1"), "3 probabilities of 'Success', where .* require 4"),
            ("m.bif", FAMILY + DOG, "'family' more than once"),
            ("m.xdsl", GENIE.replace('"Poor"', '"Good"'), "has the state 'Good' more than once"),
            ("m.xdsl", GENIE.replace("<parents>Forecast", "<parents>Weather"), "does not declare 'Weather'"),
            ("m.xdsl", GENIE.replace("<parents>Forecast", "<parents>Success"), "name a variable more than once"),
            ("m.bif", DOG.replace("family {", "fam {"), "does not declare 'family'"),
            ("m.bif", DOG.replace("(many) 1, 0", "(few) 1, 0"), "'few' is not a state of 'family'"),
            ("m.bif", DOG.replace("(many) 1, 0;", ""), r"no probabilities of 'light-on' given \['many'\]"),
            ("m.bif", DOG.replace("0.05, 0.95", "0.05"), "1 probabilities of 'light-on', where .* require 2"),
            ("m.bif", DOG.replace("0.05, 0.95", "0.15, 0.95"), "does not sum to 1"),
            ("m.bif", DOG.replace("0.05, 0.95", "-0.05, 1.05"), "must be|[Vv]alues|probabilit"),
            ("m.bif", DOG[: DOG.index("probability ( family")], "no probabilities of 'family'"),
            ("m.bif", DOG[:-2], "was expected, but the file ends"),
            ("m.bif", DOG.replace("(many) 1, 0;", "(many) 1, 0; (many) 0, 1;"), "are given more than once"),
            ("m.bif", DOG.replace("[ 3 ]", "[ 2 ]"), "declares 2 states, but names 3"),
            ("m.bif", DOG.replace("table 0.2", "tabel 0.2"), "'table' or .* was expected, not 'tabel'"),
            ("m.bif", DOG.replace("table 0.2, 0.5, 0.3", "table 0.2, 0.5, 0.3 ; default 1, 0, 0"), "in another way"),
            ("m.bif", DOG.replace("0.05, 0.95", "0.05, 0_0.95"), "a number or ';' was expected, not '0_0.95'"),
            ("m.bif", DOG.replace("probability ( family", "variable ghost { }\nprobability ( family"), "has no type"),
            ("m.bif", DOG.replace("{ none", "{ many"), "the state 'many' more than once"),
            ("m.xml", ZOO.replace("<GIVEN>type</GIVEN>", "<GIVN>type</GIVN>"), "'GIVN'"),
            ("m.xml", ZOO.replace("</TABLE>", "</TABLE><TABLE>1</TABLE>"), "2 elements TABLE"),
            ("m.xml", ZOO.replace("nature", "decision"), "of the type 'decision'"),
            ("m.xdsl", GENIE.replace("<parents>", "<parents>Success</parents><parents>"), "2 elements parents"),
            ("m.xdsl", GENIE.replace("0.4 0.6", "0.4 nan"), "contain 'nan', which is not a number"),
            ("m.bif", "variable " * 1000, "a name or '{' was expected, but the file ends"),
        ],
    )  # fmt: skip
    def test_damaged_or_foreign(self, name, content, message, tmp_path):
        (tmp_path / name).write_text(content, "utf-8")
        with pytest.raises(ValueError, match=rf"(?s){re.escape(name)}.*({message})"):
            from_file(tmp_path / name, "family")

    def test_no_text(self, tmp_path):
        (tmp_path / "m.bif").write_bytes(b"\xff\xfe\x00variable")
        with pytest.raises(ValueError, match=r"m\.bif is not a valid BIF file: .*decode"):
            from_file(tmp_path / "m.bif", "family")

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_truncated(self, extension, tmp_path):
        classifier, _ = monks()
        path = tmp_path / f"m.{extension}"
        to_file(classifier, path)
        content = path.read_bytes().rstrip()
        for length in [len(content) - 1, *np.random.default_rng(0).integers(0, len(content) - 1, 15).tolist()]:
            path.write_bytes(content[:length])
            with pytest.raises(ValueError, match=r"m\.\w+ is not a valid \w+ file"):
                from_file(path)

    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            from_file(tmp_path / "nowhere.bif", "c")
        with pytest.raises(ValueError, match="none of the known extensions"):
            from_file(tmp_path / "nowhere.net", "c")
        with pytest.raises(ValueError, match="none of the known extensions"):
            from_file(tmp_path / "nowhere.gz", "c")


def rewrite(path, change):
    """Change a file of names, its checksum too: what no accident does."""
    document = json.loads(path.read_bytes())
    change(document)
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))


class TestThePair:
    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_edited_probabilities_and_arcs_count(self, extension, tmp_path):
        """Another program changes P(class) and writes the network anew, in its own order, under its own name."""
        X, y = load_monks(1)
        classifier = NaiveBayesClassifier().fit(X, y)
        path = tmp_path / f"m.{extension}"
        to_file(classifier, path)
        text = path.read_text()
        start = {"bif": "probability ( is_monk ) {\n    table ", "xmlbif": "<FOR>is_monk</FOR>\n      <TABLE>"}.get(
            extension
        )
        if start is None:
            start = re.search(r'(?s)<cpt id="is_monk">.*?<probabilities>', text)[0]
        before, after = text.split(start)
        ending = re.search(r"[;<]", after).start()
        separator = ", " if extension == "bif" else " "
        path.write_text(f"{before}{start}0.9{separator}0.1 {after[ending:]}".replace("0.1 <", "0.1<"))
        odds = np.log(1 / 9) - np.diff(np.log(classifier.conditional_tables_["is_monk"].values))
        back = from_file(path)
        logs = back.predict_log_proba(X)
        expected = classifier.predict_log_proba(X)
        np.testing.assert_allclose(logs[:, 1] - logs[:, 0], expected[:, 1] - expected[:, 0] + odds, rtol=0, atol=1e-8)
        assert same(back.vocabulary_.states["is_monk"], classifier.vocabulary_.states["is_monk"])

    def test_rewritten_by_another_program(self, tmp_path):
        """States and variables in another order, one more arc, the network's name lost."""
        classifier = make({"a b": (2, 1), "u": (0.5, "x"), "c": (1, 2)}, {"a b": ("c",), "u": ("c",), "c": ()}, "c")
        to_file(classifier, tmp_path / "m.bif")
        values = {name: table.values for name, table in classifier.conditional_tables_.items()}
        (tmp_path / "m.bif").write_text(
            f"""network unknown {{
}}
variable c {{
  type discrete [ 2 ] {{ v2, v1 }};
}}
variable u {{
  type discrete [ 2 ] {{ x, v0_5 }};
}}
variable a_b {{
  type discrete [ 2 ] {{ v1, v2 }};
}}
probability ( c ) {{
  table {values["c"][1]}, {values["c"][0]};
}}
probability ( u | c ) {{
  ( v1 ) {values["u"][1, 0]}, {values["u"][0, 0]};
  ( v2 ) {values["u"][1, 1]}, {values["u"][0, 1]};
}}
probability ( a_b | u, c ) {{
  ( x, v1 ) {values["a b"][1, 0]}, {values["a b"][0, 0]};
  ( v0_5, v1 ) {values["a b"][1, 0]}, {values["a b"][0, 0]};
  ( x, v2 ) {values["a b"][1, 1]}, {values["a b"][0, 1]};
  ( v0_5, v2 ) {values["a b"][1, 1]}, {values["a b"][0, 1]};
}}
"""
        )
        back = from_file(tmp_path / "m.bif")
        assert back.structure_.parents["a b"] == ("u", "c")
        assert back.vocabulary_.names == classifier.vocabulary_.names
        assert back.vocabulary_.states == classifier.vocabulary_.states
        X = all_rows(classifier)
        np.testing.assert_allclose(back.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12)

    def test_without_the_names(self, tmp_path):
        classifier, X = monks()
        to_file(classifier, tmp_path / "m.bif")
        (tmp_path / "m.bif.names.json").unlink()
        with pytest.raises(ValueError, match=r"does not say which variable is the class, .*'is_monk'"):
            from_file(tmp_path / "m.bif")
        back = from_file(tmp_path / "m.bif", "is_monk")
        assert all(isinstance(state, str) for of_name in back.vocabulary_.states.values() for state in of_name)
        strings = X.astype(str)[list(back.vocabulary_.features)]
        np.testing.assert_allclose(back.predict_proba(strings), classifier.predict_proba(X), rtol=0, atol=1e-8)

    def test_another_class(self, tmp_path):
        X, y = load_iris()
        classifier = ANBClassifier().fit(X.rename(columns={"petal_width": 4}), y)
        to_file(classifier, tmp_path / "m.xml")
        back = from_file(tmp_path / "m.xml", 4)
        assert back.classes_.tolist() == sorted(classifier.vocabulary_.states[4])
        assert back.vocabulary_.names == (*(name for name in X if name != "petal_width"), y.name, 4)
        assert set(back.cut_points_) == set(classifier.cut_points_) - {4}
        other = from_pgmpy(classifier.to_pgmpy(), "4")
        table = X.drop(columns="petal_width").assign(**{y.name: y})
        np.testing.assert_allclose(back.predict_proba(table), other.predict_proba(table), rtol=0, atol=1e-8)
        with pytest.raises(
            ValueError, match=r"m\.xml: class_name: 'petal_width' is not one of its variables, \[.*, 4, "
        ):
            from_file(tmp_path / "m.xml", "petal_width")
        assert_equal(from_file(tmp_path / "m.xml", y.name), classifier, X.rename(columns={"petal_width": 4}))

    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_names_of_another_export(self, extension, tmp_path):
        """Same names, same states as text, but not the same: as after a crash between the two replacements."""
        parents = {"x": ("c",), "c": ()}
        numbers = make({"x": (1, 2), "c": "ab"}, parents, "c")
        strings = make({"x": ("v1", "v2"), "c": "ab"}, parents, "c")
        to_file(numbers, tmp_path / f"m.{extension}")
        to_file(strings, tmp_path / f"n.{extension}")
        (tmp_path / f"n.{extension}").replace(tmp_path / f"m.{extension}")
        with pytest.raises(ValueError, match=rf"m\.{extension}: the file of names next to it is from another export"):
            from_file(tmp_path / f"m.{extension}")
        other = make({"z": (1, 2), "c": "ab"}, {"z": ("c",), "c": ()}, "c")
        to_file(other, tmp_path / f"m.{extension}")
        marked = re.search("anbexact_[0-9a-f]{16}", (tmp_path / f"m.{extension}").read_text())[0]
        for name, states in (("y", "v1"), ("z", "v7")):
            to_file(other, tmp_path / f"m.{extension}")
            text = (tmp_path / f"m.{extension}").read_text().replace(marked, "unknown")
            text = re.sub(r"\bz\b", name, text) if name == "y" else re.sub(r"\bv1\b", states, text)
            (tmp_path / f"m.{extension}").write_text(text)
            with pytest.raises(ValueError, match=r"is for other variables or states: for '[yz]'.*Put back .* delete"):
                from_file(tmp_path / f"m.{extension}")

    def test_damaged_names(self, tmp_path):
        classifier, _ = monks()
        to_file(classifier, tmp_path / "m.xdsl")
        path = tmp_path / "m.xdsl.names.json"
        content = path.read_bytes()
        for length in np.random.default_rng(0).integers(0, len(content) - 2, 10).tolist():
            path.write_bytes(content[:length])
            with pytest.raises(ValueError, match=r"m\.xdsl\.names\.json is damaged: .* Restore it, or delete it"):
                from_file(tmp_path / "m.xdsl")
        for foreign in (b"{}", b"[1]", b"null", b'{"format": "anbexact classifier"}'):
            path.write_bytes(foreign)
            with pytest.raises(ValueError, match=r"m\.xdsl\.names\.json is not a file of names"):
                from_file(tmp_path / "m.xdsl")
        path.write_bytes(content.replace(b"holding", b"beholding", 1))
        with pytest.raises(ValueError, match=r"names\.json is damaged or was edited: .*checksum"):
            from_file(tmp_path / "m.xdsl")
        path.write_bytes(content.replace(b'"format_version": 1', b'"format_version": 2'))
        with pytest.raises(
            ValueError, match=r"in format 2, but anbexact .* reads formats up to 1: upgrade anbexact$"
        ):
            from_file(tmp_path / "m.xdsl")
        path.write_bytes(content)
        from_file(tmp_path / "m.xdsl")

    @pytest.mark.parametrize(
        "change",
        [
            lambda d: d.update({"class": "nobody"}),
            lambda d: d.pop("variables"),
            lambda d: d.pop("class"),
            lambda d: d.update(parameters={}),
            lambda d: d["variables"].append(d["variables"][0]),
            lambda d: d["variables"][0].update(name=d["variables"][1]["name"]),
            lambda d: d["variables"][0].update(name={"type": "Popen", "value": "ls"}),
            lambda d: d["variables"][0].update(name=["a", "list"]),
            lambda d: d["variables"][0]["states"].append(d["variables"][0]["states"][0]),
            lambda d: d["variables"][0].update(states="ab"),
            lambda d: d["variables"][0].update(cut_points=[1.0, 2.0, 3.0]),
            lambda d: d["variables"][0].pop("cut_points"),
        ],
    )
    def test_nonsense_with_a_checksum_that_matches(self, change, tmp_path):
        X, y = load_iris()
        to_file(NaiveBayesClassifier().fit(X, y), tmp_path / "m.xdsl")
        rewrite(tmp_path / "m.xdsl.names.json", change)
        with pytest.raises(ValueError, match=r"names\.json is damaged or was edited"):
            from_file(tmp_path / "m.xdsl")

    def test_layout_does_not_matter(self, tmp_path):
        classifier, X = monks()
        to_file(classifier, tmp_path / "m.xdsl")
        path = tmp_path / "m.xdsl.names.json"
        path.write_text(json.dumps(dict(reversed(json.loads(path.read_bytes()).items()))))
        assert_equal(from_file(tmp_path / "m.xdsl"), classifier, X)

    def test_another_format_by_pgmpy(self, tmp_path):
        """XDSL turned into BIF by pgmpy, the file of names renamed: as good as the pair that was written."""
        classifier, X = monks()
        to_file(classifier, tmp_path / "m.xdsl")
        BIFWriter(XDSLReader(str(tmp_path / "m.xdsl")).get_model()).write(str(tmp_path / "m.bif"))
        shutil.copy(tmp_path / "m.xdsl.names.json", tmp_path / "m.bif.names.json")
        assert_equal(from_file(tmp_path / "m.bif"), classifier, X)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_of_a_universal_measure_has_the_most_probable_levels(extension, tmp_path):
    X, y = load_iris()
    classifier = ANBClassifier(continuous="universal").fit(X, y)
    path = tmp_path / f"network.{extension}"
    with pytest.raises(ValueError, match=r"known extensions, .*; ANBClassifier.save writes JSON"):
        to_file(classifier, tmp_path / "network")
    with pytest.warns(UserWarning, match="every variable is exported at its most probable level"):
        to_file(classifier, path)
    assert_equal(from_file(path), classifier.to_discrete(), X)
