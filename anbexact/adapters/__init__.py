"""Stand-in for ``anbexact.adapters`` in the project's folder, where its files lie next to ``anbexact/``.

An installed package has those files here. With this stand-in ``import anbexact.adapters`` also works from the
project's folder, which hides an installed package.
"""

from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[2] / "adapters"
__path__ = [str(_SOURCE)]
__file__ = str(_SOURCE / "__init__.py")
exec(compile(Path(__file__).read_text(encoding="utf-8"), __file__, "exec"))
