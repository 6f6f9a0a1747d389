"""Parsers of the command line that import what a command needs once that command is used."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from anbexact._runtime.cached import cached_property
from anbexact._runtime.lazy import no_garbage

FORMATTER = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """A parser whose error is one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"anbexact: error: {message} (see {self.prog} --help)\n")


class CommandParser(Parser):
    """The parser of a command, which the function ``fill`` of a module completes as soon as it has to parse.

    Attributes
    ----------
    module : str
        The module; it is imported only then.
    listed : callable
        Returns what the help says below the examples.
    """

    def __init__(self, *, module: str, **options: Any) -> None:
        super().__init__(formatter_class=FORMATTER, allow_abbrev=False, **options)
        self.module, self._is_filled = module, False
        self.listed: Callable[[], str] = str

    def fill(self) -> None:
        """Add the options, once."""
        if not self._is_filled:
            self._is_filled = True
            with no_garbage():
                module = import_module(self.module)
            module.fill(self)

    def describe(self, usage: str, description: str, examples: str) -> None:
        """Set how the command is called, what it does, and examples, which stand below the options."""
        self.usage, self.description = f"{self.prog} {usage}", description
        self.epilog = f"examples:\n{examples.rstrip()}"

    def parse_known_args(  # type: ignore[override]  # typeshed has one signature per kind of namespace
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Parse arguments as the base class does, but refuse unknown ones here: the message names the command."""
        self.fill()
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def format_help(self) -> str:
        """Return the help text."""
        self.fill()
        return super().format_help() + self.listed()


Commands = argparse._SubParsersAction
"""The subparsers of ``anbexact``."""


class Later(Collection[str]):
    """The values of an option, looked up when one is given or the help lists them as ``%(choices)s``."""

    def __init__(self, find: Callable[[], Collection[str]]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> Collection[str]:
        return tuple(self._find())

    def __contains__(self, value: object) -> bool:
        return value in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
