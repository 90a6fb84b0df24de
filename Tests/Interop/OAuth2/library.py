"""What the source of a library says: what a server that is made of it does not offer, the library may have all the same."""

import importlib.util
import pathlib


def mentions(package, text):
    """Whether a text is anywhere in a package."""
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    return any(text in path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
