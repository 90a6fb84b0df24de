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
    # Octet for octet as ISO-8859-1: the library takes other text in header fields for an error.
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
    # A form without parts is what browsers send, and no multipart body by RFC 2046, to which `email` holds.
    is_empty = request.args.get("empty") == "1"
    parts = [] if is_empty else with_email(body, content_type)
    return jsonify(email=parts, werkzeug=with_werkzeug(body, content_type))


server.run(host="127.0.0.1", port=int(sys.argv[1]))
