"""BIF, XMLBIF and XDSL files from their grammars, and near valid files: read as they are meant, or refused.

The grammars draw networks and write them in all ways that a format allows, with comments, properties, and blocks in
any order; what is read must be the network that was drawn. Files near valid ones are refused, or pgmpy reads the
same, independently of the readers here. pgmpy fails on some valid files, keeps blanks at the ends of states, and
needs BIF with a line for each statement, as it overlooks others.
"""

import re
import warnings
from functools import cache
from io import BytesIO
from itertools import product
from math import prod
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
from fuzzing import Record, cases, damaged, edited, rngs
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.readwrite import BIFReader, XDSLReader, XMLBIFReader

from anbexact.adapters import from_file

NAMES = ["a", "B", "x1", "node_2", "long-name", "c.d", "größe"]
STATES = ["yes", "no", "s0", "s1", "low", "a_b", "-1", "2.5", "<5", "ünder"]
BIF_TOKENS = r"\s+|[{}()\[\];,|]|\"[^\"]*\"|[^\s{}()\[\];,|\"]+"
XML_TOKENS = r"<[^<>]*>|[^<>\s]+|\s+|[<>]"


@st.composite
def networks(draw):
    """Networks of up to four variables: the states and the parents of each, and tables of multiples of 1/16."""
    rng = draw(rngs)
    names = rng.sample(NAMES, draw(st.integers(2, 4)))
    states = {name: rng.sample(STATES, rng.randint(1, 3)) for name in names}
    tables = {}
    for place, name in enumerate(names):
        parents = rng.sample(names[:place], rng.randint(0, min(place, 2)))
        shape = [len(states[variable]) for variable in (name, *parents)]
        columns = []
        for _ in range(prod(shape[1:])):
            cuts = sorted(rng.randint(0, 16) for _ in range(shape[0] - 1))
            columns.append(np.diff([0, *cuts, 16]) / 16)
        tables[name] = (parents, np.array(columns).T.reshape(shape))
    return states, tables


def number(rng, value):
    """Return a number in one of its notations."""
    return rng.choice([repr(float(value)), f"{value:.6e}", f"{value:.10f}", f"+{value:g}"])


def shuffled(rng, items, plain):
    """Return items in any order, or as they are."""
    return list(items) if plain else rng.sample(items, len(items))


def bif(network, rng, plain=False):
    """Return a network as BIF."""
    states, tables = network

    def noise():
        return "" if plain else rng.choice(["", "", " ", "\n", "// a comment }\n", "/* { */", "\r\n", "\t"])

    def words(values):
        return (", " if plain else rng.choice([",", " , ", " "])).join(values)

    def quoted(name):
        return name if plain or rng.random() < 0.5 else f'"{name}"'

    blocks = []
    for name, own in states.items():
        about = "" if plain else rng.choice(["", 'property "position = (0, 1)" ;\n', "property size = 3;\n"])
        listed = words(own) if len(own) > 1 else own[0]
        blocks.append(f"variable {quoted(name)} {{ {about}type discrete [ {len(own)} ] {{ {listed} }};\n}}\n")
    for name, (parents, table) in tables.items():
        bar = f" | {', '.join(map(quoted, parents))}" if parents else ""
        way = rng.choice(["rows", "table"] if plain else ["rows", "table", "default"]) if parents else "table"
        if way == "table":
            body = [f"table {words(number(rng, value) for value in table.ravel())} ;\n"]
        else:
            columns = table.reshape(len(table), -1).T
            body = [
                f"( {', '.join(row)} ) {words(number(rng, value) for value in column)};\n"
                for row, column in zip(product(*(states[parent] for parent in parents)), columns, strict=True)
            ]
            if way == "default":
                body[0] = f"default {words(number(rng, value) for value in columns[0])};\n"
        rows = "".join(shuffled(rng, body, plain))
        blocks.append(f"probability ( {quoted(name)}{bar} ) {{\n{rows}}}\n")
    blocks = shuffled(rng, blocks, plain)
    return "network unknown {\n}\n" + "".join(noise() + block for block in blocks) + noise()


def xmlbif(network, rng, plain=False):
    """Return a network as XMLBIF."""
    states, tables = network

    def noise():
        kinds = ["", "", "\n", "<!-- <NAME> -->", "<PROPERTY>x = 1</PROPERTY>", " "]
        return "" if plain else rng.choice(kinds)

    blocks = []
    for name, own in states.items():
        outcomes = "".join(f"<OUTCOME>{escape(state)}</OUTCOME>{noise()}" for state in own)
        blocks.append(f'<VARIABLE TYPE="nature">{noise()}<NAME>{escape(name)}</NAME>{outcomes}</VARIABLE>')
    for name, (parents, table) in tables.items():
        given_by = "".join(f"<GIVEN>{escape(parent)}</GIVEN>" for parent in parents)
        listed = rng.choice([" ", "\n"]).join(number(rng, value) for value in np.moveaxis(table, 0, -1).ravel())
        parts = [f"<FOR>{escape(name)}</FOR>", given_by, f"<TABLE> {listed} </TABLE>"]
        blocks.append(f"<DEFINITION>{noise().join(shuffled(rng, parts, plain))}</DEFINITION>")
    blocks = shuffled(rng, blocks, plain)
    return f'<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>{noise().join(blocks)}</NETWORK></BIF>'


def xdsl(network, rng, plain=False):
    """Return a network as XDSL."""
    states, tables = network

    def noise():
        return "" if plain else rng.choice(["", "", "\n", "<!-- <cpt> -->", '<property id="p">1</property>'])

    blocks = []
    for name, (parents, table) in tables.items():
        listed = " ".join(number(rng, value) for value in np.moveaxis(table, 0, -1).ravel())
        parts = [
            "".join(f"<state id={quoteattr(state)} />" for state in states[name]),
            f"<parents>{' '.join(map(escape, parents))}</parents>" if parents else "",
            f"<probabilities>{listed}</probabilities>",
        ]
        blocks.append(f"<cpt id={quoteattr(name)}>{noise().join(parts)}</cpt>")
    blocks = "".join(shuffled(rng, blocks, plain))
    return f'<smile version="1.0" id="n"><nodes>{blocks}</nodes><extensions/></smile>'


FORMATS = {"bif": (bif, BIF_TOKENS), "xmlbif": (xmlbif, XML_TOKENS), "xdsl": (xdsl, XML_TOKENS)}


@pytest.fixture(scope="module", name="record", params=FORMATS)
def _record(request):
    """Return the format, and the records of its two tests."""
    records = [Record(f"{request.param}, {what}") for what in ("grammar", "near valid files")]
    yield request.param, *records
    for record in records:
        record.write()


def tables_by_name(classifier):
    """Return the states of all variables, and P(variable | parents) of each with the states of all by name."""
    vocabulary = classifier.vocabulary_
    found = {}
    for name, table in classifier.conditional_tables_.items():
        for cell in product(*(vocabulary.states[variable] for variable in table.variables)):
            places = tuple(vocabulary.states[v].index(s) for v, s in zip(table.variables, cell, strict=True))
            found[name, frozenset(zip(table.variables, cell, strict=True))] = float(table.values[places])
    return {name: set(of_name) for name, of_name in vocabulary.states.items()}, found


def drawn_by_name(network):
    """Return the same of a network that was drawn."""
    states, tables = network
    found = {}
    for name, (parents, table) in tables.items():
        variables = [name, *parents]
        for places in np.ndindex(table.shape):
            cell = [(variable, states[variable][place]) for variable, place in zip(variables, places, strict=True)]
            found[name, frozenset(cell)] = float(table[places])
    return {name: set(own) for name, own in states.items()}, found


class QuickBIFReader(BIFReader):
    """pgmpy's reader with grammars that are made only once: to make them for every file takes most of the time."""

    get_variable_grammar = staticmethod(cache(lambda: BIFReader.get_variable_grammar(None)))
    get_probability_grammar = staticmethod(cache(lambda: BIFReader.get_probability_grammar(None)))


def laid_out(text):
    """Return BIF without comments and quotation marks, a statement on each line."""
    text = re.sub(r"//[^\n\r]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    tokens = [token for token in re.findall(BIF_TOKENS, text) if token.strip()]
    found = ""
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        ends = token == ";" or (token == "{" and before != "]") or (token == "}" and after != ";")
        found += ("" if token == ";" else " ") * (not found.endswith("\n")) + token.strip('"') + "\n" * ends
    return found


def read_by_pgmpy(content, extension):
    """Return the same of what pgmpy reads; None if it fails."""
    try:
        if extension == "bif":
            network = QuickBIFReader(string=laid_out(content.decode("utf-8-sig"))).get_model()
        else:
            network = (XMLBIFReader if extension == "xmlbif" else XDSLReader)(path=BytesIO(content)).get_model()
        found = {}
        for cpd in network.get_cpds():
            for places in np.ndindex(cpd.values.shape):
                cell = [(v, cpd.state_names[v][k].strip()) for v, k in zip(cpd.variables, places, strict=True)]
                found[cpd.variable, frozenset(cell)] = float(cpd.values[places])
        return {cpd.variable: {*map(str.strip, cpd.state_names[cpd.variable])} for cpd in network.get_cpds()}, found
    except Exception:  # of any type
        return None


def alike(ours, theirs):
    """Whether two networks have the same states, and the same probabilities but for sums of columns up to 1e-6."""
    (states, cells), (other_states, other_cells) = ours, theirs
    return (
        states == other_states
        and cells.keys() == other_cells.keys()
        and all(abs(value - other_cells[cell]) < 3e-6 for cell, value in cells.items())
    )


def read(content, path, class_name):
    """Return a classifier and no message, or none and the message of the refusal, as documented."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return from_file(path, class_name), ""
        except (ValueError, MemoryError) as error:
            return None, str(error)


@cases(10)
@given(network=networks(), rng=rngs)
def test_pgmpy_reads_what_the_grammar_writes_plainly(network, rng):
    """Otherwise its readers would say nothing of files near these."""
    for extension, (write, _) in FORMATS.items():
        theirs = read_by_pgmpy(write(network, rng, plain=True).encode(), extension)
        assert theirs is not None
        assert alike(drawn_by_name(network), theirs)


@cases(90)
@given(network=networks(), rng=rngs)
def test_files_from_the_grammar(record, network, rng, tmp_path_factory):
    extension, watched, _ = record
    content = FORMATS[extension][0](network, rng).encode()
    path = tmp_path_factory.getbasetemp() / f"grammar.{extension}"
    with watched.case() as outcome:
        classifier, message = read(content, path, next(iter(network[0])))
        assert classifier is not None, (content, message)
        assert alike(tables_by_name(classifier), drawn_by_name(network)), content
        outcome.append("accepted")


@cases(90)
@given(network=networks(), rng=rngs)
def test_files_near_valid_ones(record, network, rng, tmp_path_factory):
    extension, _, watched = record
    write, tokens = FORMATS[extension]
    text = write(network, rng, plain=True)
    content = edited(text, tokens, rng).encode() if rng.random() < 0.7 else damaged(text.encode(), rng)
    path = tmp_path_factory.getbasetemp() / f"near.{extension}"
    with watched.case() as outcome:
        classifier, message = read(content, path, next(iter(network[0])))
        if classifier is None:
            assert path.name in message
        else:
            theirs = read_by_pgmpy(content, extension)
            assert theirs is None or alike(tables_by_name(classifier), theirs), content
            shares = classifier.predict_proba([[None] * classifier.n_features_in_])
            assert abs(shares.sum() - 1) < 1e-9
        outcome.append("refused" if classifier is None else "accepted")
