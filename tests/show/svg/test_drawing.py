"""Pictures: markup that escapes, layouts without overlap, arcs as wide as they are worth."""

import itertools
import math
import random
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, Structure, UniversalMeasure
from anbexact.classifiers import BNC2PClassifier, GreedyGBNClassifier, MCDAGClassifier
from anbexact.datasets import load_iris, load_lenses, load_monks
from anbexact.models.network.arc_strengths import arc_strengths
from anbexact.scores import CMDL
from anbexact.show.svg.layout import layered
from anbexact.show.svg.markup import Markup, element, escaped, shortened, shortened_apart
from anbexact.show.svg.network import MOST_CHARACTERS, diagram, network_svg
from anbexact.show.svg.tables import number

SVG = "{http://www.w3.org/2000/svg}"


def random_arcs(n_nodes, share, seed):
    rng = random.Random(seed)
    return [(a, b) for b in range(n_nodes) for a in range(b) if rng.random() < share]


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "1 < 2 & 'three'", title='"quoted" <i>')
    assert element("p", inner) == (
        '<p><b title="&quot;quoted&quot; &lt;i&gt;">1 &lt; 2 &amp; &#x27;three&#x27;</b></p>'
    )
    assert escaped(Markup("<br>")) == "<br>"
    assert escaped("a\x00b\ud800c\u202ed") == "a\ufffdb\ufffdc\ufffdd"
    assert element("input", checked=True, disabled=False, aria_label=None) == "<input checked>"


@given(text=st.text(max_size=40), most=st.integers(1, 12))
def test_shortened_texts_keep_their_ends(text, most):
    whole, short = " ".join(text.split()), shortened(text, most)
    assert len(short) <= most
    assert short == whole or (short.count("…") >= 1 and whole.startswith(short.split("…")[0]))


@given(st.lists(st.text("abc 12_", min_size=1, max_size=9), min_size=2, max_size=5, unique=True), st.integers(8, 30))
def test_names_that_differ_in_the_middle_are_told_apart(middles, most):
    names = [f"measurement number {middle.strip()} of the questionnaire" for middle in middles]
    names = list(dict.fromkeys(" ".join(name.split()) for name in names))
    labels = shortened_apart(names, most)
    assert all(len(label) <= most for label in labels)
    for name, label in zip(names, labels, strict=True):
        pattern = ".*".join(re.escape(part) for part in label.split("…"))
        assert re.fullmatch(pattern, name)
    if most >= 24:
        assert len(set(labels)) == len(names)


def test_labels_of_a_network_are_told_apart():
    names = [f"measurement number {k:02d} of the questionnaire" for k in range(12)]
    drawn = diagram(Structure.given("c", {"c": (), **dict.fromkeys(names, ("c",))}))
    assert drawn.label(names[7]) == "measureme…07…tionnaire"
    assert len({drawn.label(name) for name in names}) == 12
    assert shortened_apart(["age", "age", "b" * 40 + "c", "b" * 40 + "d"], 9)[:2] == ["age", "age"]


@pytest.mark.parametrize("share", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("n_nodes", [1, 5, 40])
def test_nodes_do_not_overlap_and_arcs_lead_on(n_nodes, share):
    arcs = random_arcs(n_nodes, share, n_nodes)
    sizes = [(30.0 + 17 * (k % 5), 28.0) for k in range(n_nodes)]
    layout = layered(sizes, arcs)
    boxes = [(x, y, *size) for (x, y), size in zip(layout.centres, sizes, strict=True)]
    for k, (x, y, width, height) in enumerate(boxes):
        assert x - width / 2 >= -0.01
        assert x + width / 2 <= layout.width + 0.01
        assert y - height / 2 >= -0.01
        assert y + height / 2 <= layout.height + 0.01
        for other_x, other_y, other_width, other_height in boxes[:k]:
            apart_x = abs(x - other_x) >= (width + other_width) / 2 - 0.01
            assert apart_x or abs(y - other_y) >= (height + other_height) / 2 - 0.01
    assert set(layout.routes) == set(arcs)
    axes = [all(layout.centres[b][axis] > layout.centres[a][axis] for a, b in arcs) for axis in (0, 1)]
    assert any(axes)
    for (a, b), points in layout.routes.items():
        assert (points[0], points[-1]) == (layout.centres[a], layout.centres[b])
        for (x1, y1), (x2, y2) in itertools.pairwise(points[1:-1]):  # between its bends, an arc passes all nodes by
            for x, y in zip(np.linspace(x1, x2, 15), np.linspace(y1, y2, 15), strict=True):
                assert not any(abs(x - p) < w / 2 - 0.5 and abs(y - q) < h / 2 - 0.5 for p, q, w, h in boxes)


def test_a_tree_has_no_crossings():
    arcs = [((k - 1) // 3, k) for k in range(1, 40)]
    layout = layered([(40.0, 20.0)] * 40, arcs)
    down = all(layout.centres[b][1] > layout.centres[a][1] for a, b in arcs)
    across, along = (0, 1) if down else (1, 0)
    for k, (a, b) in enumerate(arcs):
        for c, d in arcs[:k]:
            if layout.centres[a][along] == layout.centres[c][along]:
                upper = layout.centres[a][across] - layout.centres[c][across]
                lower = layout.centres[b][across] - layout.centres[d][across]
                assert upper * lower >= 0


def conditional_information(problem, x, y, given_):
    """I(X; Y | Z) of the weighted rows, nats per row."""
    total, shares = sum(problem.weights), {}
    for row, weight in zip(problem.rows, problem.weights, strict=True):
        key = row[x], row[y], tuple(row[z] for z in given_)
        shares[key] = shares.get(key, 0.0) + weight / total

    def share(a=None, b=None, z=None):
        return sum(p for (i, j, k), p in shares.items() if a in (None, i) and b in (None, j) and z in (None, k))

    return sum(p * math.log(p * share(z=z) / (share(a=a, z=z) * share(b=b, z=z))) for (a, b, z), p in shares.items())


@given(problem=problems(max_features=3, min_arity=2))
def test_arcs_are_worth_their_information_and_their_score(problem):
    X, y = problem.frame()
    classifier = GBNClassifier(ess=2.0, categories=problem.categories).fit(X, y, sample_weight=problem.weights)
    number = {name: v for v, name in enumerate(problem.names)}
    found = arc_strengths(classifier.model_)
    assert [(arc.parent, arc.child) for arc in found] == list(classifier.structure_.edges)
    score = classifier.score_of(2.0)
    for parent, child, information, gain in found:
        parents = classifier.structure_.parents[child]
        others = [number[other] for other in parents if other != parent]
        expected = conditional_information(problem, number[child], number[parent], others)
        assert information == pytest.approx(expected, abs=1e-9)
        without = [other for other in parents if other != parent]
        lost = score.local_score(problem.table, child, parents) - score.local_score(problem.table, child, without)
        assert gain == pytest.approx(lost, abs=1e-8)


@pytest.mark.parametrize(
    "classifier",
    [BNC2PClassifier(), MCDAGClassifier(), GreedyGBNClassifier(structure_score=CMDL())],
    ids=lambda classifier: type(classifier).__name__,
)
def test_scores_of_whole_structures_give_arcs_no_gain(classifier):
    X, y = load_lenses()
    classifier.fit(X, y)
    arcs = arc_strengths(classifier.model_)
    assert [(arc.parent, arc.child) for arc in arcs] == list(classifier.structure_.edges)
    assert all(arc.information >= 0 and math.isnan(arc.gain) for arc in arcs)
    assert "anbexact-network" in classifier._repr_html_()


def test_arcs_of_measured_columns_are_those_of_the_most_probable_cells():
    X, y = load_iris()
    measured = ANBClassifier(continuous=UniversalMeasure(levels=3)).fit(X, y)
    cut = measured.to_discrete()
    codes = np.vstack([cut.reader_.codes(X), [cut.classes_.tolist().index(label) for label in y]])
    names = [*cut.vocabulary_.features, cut.vocabulary_.class_name]
    rows = [dict(zip(names, row, strict=True)) for row in codes.T.tolist()]
    for parent, child, information, gain in arc_strengths(measured.model_):
        others = [name for name in measured.structure_.parents[child] if name != parent]
        problem = type("Rows", (), {"rows": [tuple(row[name] for name in names) for row in rows]})
        problem.weights = [1.0] * len(rows)
        place = {name: k for k, name in enumerate(names)}
        expected = conditional_information(problem, place[child], place[parent], [place[name] for name in others])
        assert information == pytest.approx(expected, abs=1e-9)
        assert math.isnan(gain)


def test_scores_of_whole_structures_have_no_gains():
    """Displays and reports draw such networks, too."""
    classifier = BNC2PClassifier().fit(*load_monks(1))
    found = arc_strengths(classifier.model_)
    assert found
    assert all(arc.information >= 0 and math.isnan(arc.gain) for arc in found)
    assert "anbexact-network" in classifier._repr_html_()


def parsed(structure, strengths=None):
    return ElementTree.fromstring(network_svg(diagram(structure, strengths)))


def test_the_svg_has_every_name_and_every_arc():
    structure = Structure.given("<c>", {"<c>": (), "a & b": ("<c>",), "'\"": ("<c>", "a & b"), "ü" * 60: ()})
    drawn = diagram(structure, {("a & b", "'\""): 0.25})
    assert drawn.implied
    assert drawn.unused == {"ü" * 60}
    svg = parsed(structure, {("a & b", "'\""): 0.25})
    titles = [node.text for node in svg.iter(f"{SVG}title")]
    assert set(titles[1:]) == {"<c> (the class)", "a & b", "'\"", "ü" * 60, "a & b → '\": 0.2500 nats per row"}
    texts = [node.text for node in svg.iter(f"{SVG}text")]
    assert all(len(text) <= MOST_CHARACTERS for text in texts)
    assert len(list(svg.iter(f"{SVG}path"))) == 1


def test_the_class_has_arcs_of_its_own_where_it_is_not_a_parent_of_all():
    structure = Structure.given("c", {"c": ("a",), "a": (), "b": ("c", "a")})
    assert not diagram(structure).implied
    assert len(list(parsed(structure).iter(f"{SVG}path"))) == 3
    assert len(list(parsed(Structure.given("c", {"c": ()})).iter(f"{SVG}rect"))) == 1


def test_without_a_class_every_variable_is_drawn_alike():
    structure = Structure.given(None, {"a": (), "b": ("a",), "c": ("a", "b"), "d": ()})
    drawn = diagram(structure)
    assert drawn.names == ("a", "b", "c", "d")
    assert not drawn.implied
    assert drawn.unused == {"d"}
    assert {(drawn.names[p], drawn.names[c]) for p, c in drawn.arcs} == set(structure.edges)
    assert "Variables with a dashed line have no arc." in drawn.legend
    svg = ElementTree.fromstring(network_svg(drawn))
    assert svg.find(f"{SVG}title").text == "Network of 4 variables, 3 arcs drawn"
    assert {rect.get("fill") for rect in svg.iter(f"{SVG}rect")} == {"currentColor"}


def test_stronger_arcs_are_wider():
    structure = Structure.given("c", {"c": (), "x": ("c",), "y": ("c", "x"), "z": ("c", "y")})
    drawn = diagram(structure, {("x", "y"): 0.1, ("y", "z"): 0.9})
    weak, strong = drawn.arcs.values()
    assert weak < strong
    assert len(set(diagram(structure).arcs.values())) == 1


def test_features_without_arcs_fill_rows():
    structure = NaiveBayesClassifier().fit(*load_monks(1)).structure_
    drawn = diagram(structure)
    assert drawn.implied
    assert not drawn.arcs
    assert len({y for _, y in drawn.layout.centres}) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.0004, "0.000"), (-0.0006, "−0.001"), (1234.5, "1,234.500"), (math.nan, "–"), (-math.inf, "−∞")],
)
def test_numbers_have_a_sign_only_where_a_digit_shows_it(value, text):
    assert number(value) == text
