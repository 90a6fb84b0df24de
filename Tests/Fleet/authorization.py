"""A strict authorization server: it rotates refresh tokens and ends the family at a reuse.

    authorization.py ADDRESS PORT LOG

Each line of the log is a JSON object about one request, with times on the monotonic clock. `POST
/family` starts a new family and answers its first token.
"""
import json
import random
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
state = {"family": 0, "number": 0, "revoked": True}
log = open(sys.argv[3], "a", buffering=1)


def token(family, number):
    return f"refresh-{family}-{number}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        arrived = time.monotonic()
        if self.path == "/family":
            with lock:
                state.update(family=state["family"] + 1, number=0, revoked=False)
                return self.answer(200, {"token": token(state["family"], 0)})
        shown = dict(urllib.parse.parse_qsl(body)).get("refresh_token", "")
        time.sleep(random.uniform(0.001, 0.01))
        with lock:
            is_good = not state["revoked"] and shown == token(state["family"], state["number"])
            was_revoked = state["revoked"]
            if is_good:
                state["number"] += 1
                successor = token(state["family"], state["number"])
            elif shown.startswith(f"refresh-{state['family']}-"):
                state["revoked"] = True
            served = time.monotonic()
            entry = {"arrived": arrived, "served": served, "host": self.client_address[0], "token": shown,
                     "good": is_good, "ended": not is_good and not was_revoked and state["revoked"]}
            log.write(json.dumps(entry) + "\n")
        if is_good:
            self.answer(200, {"access_token": f"access-{successor}", "token_type": "Bearer",
                              "expires_in": 3600, "refresh_token": successor})
        else:
            self.answer(400, {"error": "invalid_grant"})

    def answer(self, status, value):
        text = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            pass

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
