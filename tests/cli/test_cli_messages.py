"""Messages of the library on the command line: they name its options, never parameters of Python."""

import inspect
import re
from functools import cache

import pytest
from sources import SOURCES, package_of, strings

from anbexact.classifiers.registry import named_classifiers
from anbexact.cli import main
from anbexact.cli.messages import OPTIONS, in_options

PARAMETERS = {
    name for entry in named_classifiers().values() for name in inspect.signature(entry.estimator).parameters
} | {"l2"}
NAMED = re.compile(rf"(?<![\w.-])({'|'.join(sorted(PARAMETERS - {'k'}, key=len, reverse=True))})=")
"""A parameter where advice gives it a value."""
NOT_REACHED = ("cli", "_kernels", "datasets")
"""Packages whose messages do not come from the library, or not to users."""
ONLY_IN_PYTHON = (
    "grouped with the help of the classes",
    "discretizer is None",  # the command line always cuts
    "discretizer must be one of",  # its choices are checked before
    "l2=",  # of refits, which choose it themselves there
    "handle_missing= applies only to models given by name",  # the command line names them
    "declare it in categories= too",  # no option declares states
    "which partial_fit does not see",  # no command adds rows
    "for both tables",  # nor puts tables together
    "the lazy frame",  # the commands read files
)
"""Parts of messages that no option leads to."""


@cache
def texts():
    """Return the texts of all messages that are raised or warned of, formatted parts as ``x``."""
    return [
        (f"{module}:{line}", text.replace("{}", "x"))
        for module in SOURCES
        if package_of(module) not in NOT_REACHED
        for line, text, is_document in strings(module)
        if not is_document and "\n" not in text and NAMED.search(text.replace("{}", "x"))
    ]


def test_there_are_messages():
    assert any("handle_missing='auto'" in text for _, text in texts())


def test_no_message_names_a_parameter():
    naming = [
        (place, in_options(text))
        for place, text in texts()
        if not any(part in text for part in ONLY_IN_PYTHON) and NAMED.search(in_options(text))
    ]
    assert naming == []


def test_every_option_is_one(capsys):
    """What a translation recommends is an option of the command."""
    main(["fit", "--help"])
    main(["compare", "--help"])
    help_text = capsys.readouterr().out
    for option in OPTIONS.values():
        assert re.search(rf"{option}\b", help_text), option


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use handle_missing='own_state' to treat", "use --missing own_state to treat"),
        (
            "learned again with max_parents=3; give max_parents= to choose",
            "learned again with --max-parents 3; give --max-parents to choose",
        ),
        ("ess must be a finite number", "--ess must be a finite number"),
        ("max_parents must be None or a whole number", "--max-parents must be a whole number"),
        ("Unknown label type: continuous. Maybe so. The class 'y' contains 3", "The class 'y' contains 3"),
        ("select features first, or raise memory_limit", "select features first, or raise --memory-limit"),
        ("declare it in categories=, or use handle_unknown='marginalize'", "or fit again with --unknown marginalize"),
        ("column 'max_parents' has time_limit.csv", "column 'max_parents' has time_limit.csv"),
        ("the threshold of 3 models", "the threshold of 3 models"),
    ],
)
def test_translations(text, expected):
    assert in_options(text) == expected
