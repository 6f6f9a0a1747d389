"""What the pages name in backticks exists: classes, functions, parameters, options, commands, files."""

import ast
import re
from functools import cache
from importlib import import_module

from instructions import FENCE, PAGES, ROOT, SPAN
from sources import SOURCES, nodes, strings

FOREIGN = {
    "pandas": "NaT chunksize",
    "pyarrow": "iter_batches",
    "sklearn": "CalibratedClassifierCV GridSearchCV GroupKFold IterativeImputer StratifiedGroupKFold "
    "TunedThresholdClassifierCV cross_val_score fit_prior",
    "polars, ray": "scan_parquet register_ray",
    "numba": "NUMBA_CACHE_DIR",
    "pgmpy": "BayesianEstimator CausalInference HillClimbSearch NaiveBayes TreeSearch equivalent_sample_size "
    "estimator_type prior_type scoring_method",
    "pyagrum": "LazyPropagation",
    "PMML": "BayesianNetworkModel",
    "interpret": "ExplainableBoostingClassifier merge_ebms outer_bags",
    "bnclassify": "as_mlr awnb_trees lp manb_prior tan_cl tan_hc",
    "formulas": "BF p_m q_v r_v",
    "examples on the page": "common_rates from_3_1_to_4_7",
}
"""Names that are not of this package."""
ELSEWHERE = {name for names in FOREIGN.values() for name in names.split()}


def spans():
    """Return what the pages have in backticks, outside of examples, with the page that has it first."""
    found = {}
    for page in PAGES:
        for span in SPAN.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            found.setdefault(" ".join(span.split()), page.relative_to(ROOT).as_posix())
    return found


@cache
def names():
    """Return the names that the sources define or use: functions, classes, attributes, parameters."""
    found = set()
    for node in (node for module in SOURCES for node in nodes(module)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found | texts()


@cache
def texts():
    """Return all strings of the sources."""
    return {text for module in SOURCES for _, text, _ in strings(module)}


def resolves(dotted):
    """Return whether a dotted name leads to a module or to an attribute of one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:n]))
        except ImportError:
            continue
        return all((thing := getattr(thing, part, None)) is not None for part in parts[n:])
    return False


def test_dotted_names_of_the_package():
    found = {name: page for span, page in spans().items() for name in re.findall(r"\banbexact(?:\.\w+)+", span)}
    assert len(found) > 20
    assert {name: page for name, page in found.items() if not resolves(name)} == {}


def unknown_names(span):
    """Return words that are names, by a capital inside, an underscore, or what follows, but not of the program."""
    name = r"(?:[A-Z]+[a-z]\w*[A-Z]\w*|[A-Za-z]\w*_\w*|[A-Za-z]\w*(?=\(|=(?!=)))"
    pattern = rf"(?<![\w.\"'/-]){name}(?![\w\"'])|(?<=\.)[a-z]\w*(?=\()"
    if span.startswith(("anbexact ", "python ", "make ", "pip ", "-")) or "/" in span:
        return []
    known = names() | ELSEWHERE
    return [name for name in re.findall(pattern, span) if name not in known]


def test_what_counts_as_unknown():
    assert unknown_names("TANClassifier(ess=1, eqs=2).predict_probs(X)") == ["eqs", "predict_probs"]
    assert unknown_names("NoSuchClassifier") == ["NoSuchClassifier"]
    assert unknown_names("P(class | features)") == unknown_names("top") == []


def test_classes_functions_and_parameters():
    found = {span: (unknown_names(span), page) for span, page in spans().items()}
    assert {span: unknown for span, unknown in found.items() if unknown[0]} == {}


def test_commands_and_options():
    unknown = {}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for span, page in spans().items():
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", span):
            if option not in texts() | {"--help"} and not span.startswith(("python", "pip")):
                unknown[option] = page
        if (found := re.match(r"anbexact ([a-z]+)", span)) and found[1] not in texts():
            unknown[span] = page
        if (found := re.match(r"make ([a-z-]+)", span)) and found[1] not in targets:
            unknown[span] = page
        if found := re.match(r"python -m benchmarks\.(\w+)(?: (\w+))?", span):
            package, name = found.groups()
            if not (ROOT / "benchmarks" / package / f"{name or '__main__'}.py").exists():
                unknown[span] = page
    assert unknown == {}


def test_files():
    pattern = r"(?:anbexact|adapters|benchmarks|docs|examples|tests|tools)/[\w./*-]*"
    found = {path: page for span, page in spans().items() for path in re.findall(rf"(?<![\w/.]){pattern}", span)}
    assert len(found) > 10
    assert {path: page for path, page in found.items() if not list(ROOT.glob(path))} == {}


def test_pages_that_docstrings_quote():
    """The site turns a quoted title, or its beginning up to a colon, into a link; sources never name the file."""
    heads = [page.read_text(encoding="utf-8").partition("\n")[0] for page in (ROOT / "docs").rglob("*.md")]
    titles = {title for head in heads for title in (head[2:], head[2:].partition(":")[0])}
    quoted = {
        " ".join(title.split()): module
        for module in SOURCES
        for _, text, is_document in strings(module)
        if is_document
        for title in re.findall(r'\b(?:[Gg]uide|[Pp]age) "([^"]+)"', text)
    }
    assert len(quoted) > 5
    assert {title: module for title, module in quoted.items() if title not in titles} == {}
    named = {module: text for module in SOURCES for _, text, _ in strings(module) if re.search(r"docs/\S+\.md", text)}
    assert named == {}


def test_links_say_where_they_lead():
    """The text of a link is not the name of a file."""
    link = re.compile(r"(?<!!)\[([\w./-]+\.(?:csv|md|png|py|json))\]\(")
    found = {page.relative_to(ROOT).as_posix(): link.findall(page.read_text("utf-8")) for page in PAGES}
    assert {page: names for page, names in found.items() if names} == {}
