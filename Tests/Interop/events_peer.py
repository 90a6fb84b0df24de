"""Serves event streams and JSON lines with Python's http.server, which ends each body by closing
the connection.

    python events_peer.py PORT

GET /feed?count=N      -> the events N at a time, from the one after Last-Event-ID up to 20, and
                          then 204. Each stream has all line ends, comments and a short retry time.
GET /silent            -> a comment, and then nothing until the client disconnects.
GET /reports?count=N   -> N JSON lines.
"""

import http.server
import json
import sys
import urllib.parse

LAST = 20


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(address.query)
        count = int(query.get("count", ["0"])[0])
        if address.path == "/feed":
            self.feed(count)
        elif address.path == "/silent":
            self.begin("text/event-stream")
            self.write(": silence\n")
            self.rfile.read(1)
        elif address.path == "/reports":
            self.begin("application/x-ndjson")
            for number in range(count):
                self.write(json.dumps({"number": number, "title": "Größe\n" * (number % 50)}) + "\n")
        else:
            self.send_error(404)

    def feed(self, count):
        first = int(self.headers.get("Last-Event-ID", "0").encode("iso-8859-1").decode().rpartition("№")[2]) + 1
        if first > LAST:
            self.send_response(204)
            self.end_headers()
            return
        self.begin("text/event-stream; charset=utf-8")
        self.write("\ufeffretry: 5\n\n: hello\n\n")
        for number in range(first, min(first + count, LAST + 1)):
            end = ["\n", "\r\n", "\r"][number % 3]
            data = json.dumps({"number": number, "title": "Größe"}, indent=1, ensure_ascii=False)
            lines = [f"id: №{number}", ": comment", f"event: report{number % 2}"]
            lines += [f"data:{line}" if number % 2 else f"data: {line}" for line in data.split("\n")]
            self.write(end.join(lines) + end + end)
        self.write("data: incomplete\n")

    def begin(self, media_type):
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.end_headers()

    def write(self, text):
        self.wfile.write(text.encode())
        self.wfile.flush()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
