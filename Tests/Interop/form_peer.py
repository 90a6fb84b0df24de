"""Two parsers of forms that are not ours, Python's email and Werkzeug's (the one of Flask), behind a Flask server.

    python form_peer.py PORT

POST /      -> {"email": [part, …], "werkzeug": [part, …]}, where a part is
               {"name": TEXT, "filename": TEXT or null, "type": TEXT or null, "content": HEX}
"""

import email
import email.policy
import io
import sys

from flask import Flask, jsonify, request
from werkzeug.formparser import parse_form_data

server = Flask(__name__)


def with_email(body, content_type):
    head = b"MIME-Version: 1.0\r\nContent-Type: " + content_type.encode() + b"\r\n\r\n"
    message = email.message_from_bytes(head + body, policy=email.policy.HTTP)
    if message.defects or any(part.defects for part in message.walk()):
        raise ValueError([message.defects] + [part.defects for part in message.walk()])
    # The policy would read encoded words, which forms don't have.
    compatible = email.message_from_bytes(head + body, policy=email.policy.compat32.clone(linesep="\r\n"))
    parts = compatible.get_payload() if compatible.is_multipart() else []

    def text(part, name):
        value = part.get_param(name, header="content-disposition")
        return None if value is None else value.encode("ascii", "surrogateescape").decode("utf-8")

    return [
        {
            "name": text(part, "name"),
            "filename": text(part, "filename"),
            "type": part["content-type"],
            "content": part.get_payload(decode=True).hex(),
        }
        for part in parts
    ]


def with_werkzeug(body, content_type):
    environment = {
        "wsgi.input": io.BytesIO(body),
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": content_type,
        "REQUEST_METHOD": "POST",
    }
    _, form, files = parse_form_data(environment, silent=False)
    parts = [
        {"name": name, "filename": None, "type": None, "content": value.encode("utf-8").hex()}
        for name, values in form.lists()
        for value in values
    ]
    return parts + [
        {"name": name, "filename": file.filename, "type": file.content_type, "content": file.read().hex()}
        for name, values in files.lists()
        for file in values
    ]


@server.post("/")
def form():
    body, content_type = request.get_data(parse_form_data=False), request.headers["Content-Type"]
    return jsonify(email=with_email(body, content_type), werkzeug=with_werkzeug(body, content_type))


server.run(host="127.0.0.1", port=int(sys.argv[1]))
