"""What pages, examples and docstrings tell readers to type works: commands by the parser, calls by the signatures."""

import ast
import doctest
import inspect
import re
import shlex
from functools import cache
from importlib import import_module

import pytest
from instructions import BLOCK, DOUBLE, EXAMPLES, FENCE, PAGES, ROOT, SPAN, command_lines, command_spans, texts
from sources import SOURCES, nodes

import anbexact
import anbexact.adapters
import anbexact.classifiers
import anbexact.cli as cli


def found_by_where(find):
    """Return the commands that ``find`` finds in the texts, with the text that has each first."""
    found = {}
    for where, text in texts().items():
        for command in find(text):
            found.setdefault(command, where)
    return found


def refused(command, capsys):
    """Return why the parser refuses a command; empty if it does not."""
    command = command[command.index("anbexact ") :]
    words = shlex.split(re.sub(r"<\([^)]*\)", "FILE", command), comments=True)
    ends = [k for k, word in enumerate(words) if word.startswith((">", "|"))]
    try:
        cli._parser().parse_args(words[1 : min(ends, default=None)])
    except SystemExit:
        return capsys.readouterr().err
    return ""


def test_commands(capsys):
    lines = found_by_where(command_lines)
    assert len(lines) > 40
    found = {line: (where, why) for line, where in lines.items() if (why := refused(line, capsys))}
    assert found == {}


def test_parts_of_commands(capsys):
    """In the text, a command may lack what is required, but has no unknown option and no unknown value."""
    spans = found_by_where(command_spans)
    assert len(spans) > 5
    missing = ("the following arguments are required", "expected one argument")
    found = {
        span: (where, why)
        for span, where in spans.items()
        if (why := refused(span, capsys)) and not any(text in why for text in missing)
    }
    assert found == {}


def test_what_is_refused(capsys):
    assert "--target" in refused("anbexact fit table.csv --class c --target outcome", capsys)
    assert "invalid choice" in refused("anbexact fit table.csv --class c --model tree", capsys)
    assert refused("anbexact predict model.json - > out.csv", capsys) == ""


def imported(trees):
    """Return what the imports of a text bind to a name, as far as it is of this package."""
    found = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "anbexact":
            for alias in node.names:
                found[alias.asname or alias.name] = getattr(import_module(node.module), alias.name, None)
    return found


def parsed(code):
    """Return the syntax trees of code, of all its examples if it has prompts; empty if it is not Python."""
    pieces = [code]
    if ">>>" in code:
        pieces = [example.source for example in doctest.DocTestParser().get_examples(code)]
    trees = []
    for piece in pieces:
        try:
            trees.append(ast.parse(piece))
        except SyntaxError:
            continue
    return trees


@cache
def public():
    """Return what may be called by its bare name in the text."""
    spaces = anbexact, anbexact.adapters, anbexact.classifiers
    return {name: getattr(space, name) for space in spaces for name in dir(space) if not name.startswith("_")}


@cache
def defined():
    """Return the arguments that the functions of a name take; with ``**`` where one of them takes any."""
    found = {}
    for node in (node for module in SOURCES for node in nodes(module)):
        if isinstance(node, ast.FunctionDef):
            own = found.setdefault(node.name, set())
            own |= {"**"} if node.args.kwarg else set()
            own |= {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return found


def objects(trees, known):
    """Return a function that tells whether an expression is an object of this package, as far as is easily seen."""
    variables = set()

    def is_ours(node):
        if isinstance(node, ast.Name):
            return node.id in variables
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name):
            return inspect.isclass(known.get(node.func.id))
        return isinstance(node.func, ast.Attribute) and node.func.attr == "fit" and is_ours(node.func.value)

    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assign)):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        variables = variables | names if is_ours(node.value) else variables - names
    return is_ours


def signature_of(called):
    """Return the signature; the estimators for pgmpy pass further arguments on to their classifier."""
    signature = inspect.signature(called)
    if (classifier := getattr(called, "_classifier", None)) is None:
        return signature
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    return signature.replace(parameters=[*own, *inspect.signature(classifier).parameters.values()])


def wrong_calls(trees, known):
    """Return the calls that do not suit the signature of what they call."""
    found = []
    is_ours = objects(trees, known)
    for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            continue
        keywords = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        if isinstance(call.func, ast.Name) and callable(called := known.get(call.func.id)):
            signature = signature_of(called)
            bind = signature.bind if len(keywords) == len(call.keywords) else signature.bind_partial
            try:
                bind(*call.args, **dict.fromkeys(keywords))
            except TypeError as error:
                found.append(f"{ast.unparse(call)}: {error}")
        elif isinstance(call.func, ast.Attribute) and is_ours(call.func.value):
            takes = defined().get(call.func.attr, {"**"})
            found += [f"{ast.unparse(call)}: no {name}" for name in keywords if not {"**", name} & takes]
    return found


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_calls_in_code(path):
    text = path.read_text(encoding="utf-8")
    code = [text] if path.suffix == ".py" else BLOCK.findall(text)
    trees = [tree for block in code for tree in parsed(block)]
    assert wrong_calls(trees, imported(trees)) == []


def test_calls_in_the_text():
    found, pages = {}, {page.relative_to(ROOT).as_posix() for page in PAGES}
    for where, text in texts().items():
        for span in SPAN.findall(FENCE.sub("", text)) if where in pages else DOUBLE.findall(text):
            if re.match(r"[A-Z]\w+\(", span := " ".join(span.split())) and "..." not in span:
                found[span] = where, wrong_calls(parsed(span), public())
    assert len(found) > 40
    assert {span: wrong for span, wrong in found.items() if wrong[1]} == {}


def test_what_is_a_wrong_call():
    def calls(code):
        return wrong_calls(trees := parsed(code), public() | imported(trees))

    assert calls("ANBClassifier(ess=1, time_limit=60).fit(X, y, sample_weight=w)") == []
    assert calls("ANBClassifier(required=())") == [
        "ANBClassifier(required=()): got an unexpected keyword argument 'required'"
    ]
    assert calls(">>> nb = NaiveBayesClassifier().fit(X, y)\n>>> nb.query(x=1)\nc   1.0\n") == []
    assert calls("nb = NaiveBayesClassifier()\nnb.predict_proba(X, prior=p)") == [
        "nb.predict_proba(X, prior=p): no prior"
    ]
    assert calls("ANBEstimator(data, class_node='c', score='bic')") != []
