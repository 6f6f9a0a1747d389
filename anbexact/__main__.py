"""``python -m anbexact`` is the command ``anbexact``."""

from anbexact.cli import main

raise SystemExit(main())
