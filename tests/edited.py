"""Saved models with one value changed by hand, and a digest as if they had been written so."""

import json

from anbexact.files.document import digest


def write_edited(path, place, value):
    """Change the value at a place in the document of a file: the keys that lead there, one after the other."""
    document = part = json.loads(path.read_text())
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    document["sha256"] = digest(document)
    path.write_text(json.dumps(document))
