"""Parses URLs with Python's urllib. It reads one JSON request per line, and writes one JSON response per
line.

    python url_peer.py

Requests:
    {"url": TEXT}   -> {"host": TEXT, "path": [decoded segments], "query": [[name, value], …], "fragment": TEXT}
    {"form": TEXT}  -> {"fields": [[name, value], …]}
Any failure ends the program with a traceback and status 1.
"""

import json
import sys
from urllib.parse import parse_qsl, unquote, urlsplit


def pairs(text):
    return parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict") if text else []


def answer(request):
    if "form" in request:
        return {"fields": pairs(request["form"])}
    parts = urlsplit(request["url"])
    return {
        "host": parts.netloc,
        "path": [unquote(segment, errors="strict") for segment in parts.path.split("/")],
        "query": pairs(parts.query),
        "fragment": parts.fragment,
    }


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
