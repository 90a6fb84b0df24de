"""Searches the source of a library, which may support a feature that a server on it doesn't offer."""

import importlib.util
import pathlib


def mentions(package, text):
    """Returns whether a package contains a text."""
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    return any(text in path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
