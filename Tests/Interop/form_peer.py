"""Parses forms with Flask and with Python's email.

    python form_peer.py PORT

POST /      -> {"flask": [part, ...], "email": [part, ...]}, where a part is
               {"name": TEXT, "filename": TEXT or null, "type": TEXT or null, "content": HEX}

Flask separates fields and files, and doesn't keep their order. "email" is null for a form without
parts, which browsers send although RFC 2046 doesn't allow it.
"""

import email
import email.policy
import sys

from flask import Flask, jsonify, request

server = Flask(__name__)


def with_email(body, content_type):
    # Decode each byte as ISO-8859-1, because the library rejects other text in header fields.
    text = "MIME-Version: 1.0\r\nContent-Type: " + content_type + "\r\n\r\n" + body.decode("iso-8859-1")
    message = email.message_from_string(text, policy=email.policy.compat32.clone(linesep="\r\n"))
    if any(part.defects for part in message.walk()):
        raise ValueError([part.defects for part in message.walk()])

    def parameter(part, name):
        value = part.get_param(name, header="content-disposition")
        return None if value is None else value.encode("iso-8859-1").decode("utf-8")

    return [
        {
            "name": parameter(part, "name"),
            "filename": parameter(part, "filename"),
            "type": part["content-type"],
            "content": part.get_payload().encode("iso-8859-1").hex(),
        }
        for part in message.get_payload()
    ]


def with_flask():
    fields = [
        {"name": name, "filename": None, "type": None, "content": value.encode("utf-8").hex()}
        for name, values in request.form.lists()
        for value in values
    ]
    files = [
        {"name": name, "filename": file.filename, "type": file.content_type, "content": file.read().hex()}
        for name, values in request.files.lists()
        for file in values
    ]
    return fields + files


@server.post("/")
def form():
    body, content_type = request.get_data(), request.headers["Content-Type"]
    boundary = content_type.partition("boundary=")[2].encode()
    is_empty = body == b"--" + boundary + b"--\r\n"
    return jsonify(flask=with_flask(), email=None if is_empty else with_email(body, content_type))


server.run(host="127.0.0.1", port=int(sys.argv[1]))
