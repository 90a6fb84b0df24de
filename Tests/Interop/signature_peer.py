"""HTTP message signatures (RFC 9421) and Content-Digest (RFC 9530) of http-message-signatures.

    python signature_peer.py keys FILE
    python signature_peer.py serve PORT KEYS ORIGIN
    python signature_peer.py send KEYS AUTHORITY

`keys` writes new keys: {"client" or "server": {ALGORITHM: {"pem": TEXT} or {"secret": BASE64}}}. Their
IDs are the owner, a hyphen and the algorithm.

`serve` verifies each request whose path ends with /ALGORITHM, and signs its response. A path that
begins with /inner was /to/PORT at ORIGIN, which is the server's URL for clients of the proxy. The
response is 200 or 401 with

    {"accepted": BOOLEAN, "reason": TEXT, "covered": [TEXT, ...], "method": TEXT, "target": TEXT,
     "headers": [[NAME, VALUE], ...], "body": BASE64}

The header field X-Change names what is changed in the signed response: status, field, body, request.

`send` reads one request from standard input, signs it, changes it, sends it, and verifies the
response:

    {"url": URL, "method": TEXT, "headers": [[NAME, VALUE], ...], "body": BASE64, "algorithm": TEXT,
     "components": [TEXT, ...], "change": absent, "method", "field", "query", "body" or "digest"}
 -> {"status": NUMBER, "body": BASE64, "own": TEXT, "reason": TEXT}

"own" is why the library itself refuses the request that was sent, and "reason" why it refuses the
response; both are empty if it doesn't. AUTHORITY is the certificate for https.
"""

import base64
import http.client
import http.server
import json
import secrets
import socketserver
import ssl
import sys
import urllib.parse
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from http_message_signatures import (
    ContentDigest,
    HTTPMessageSigner,
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    MappingKeyResolver,
    algorithms,
)

ALGORITHMS = {
    algorithm.algorithm_id: algorithm
    for algorithm in (
        algorithms.ED25519,
        algorithms.ECDSA_P256_SHA256,
        algorithms.ECDSA_P384_SHA384,
        algorithms.RSA_PSS_SHA512,
        algorithms.RSA_V1_5_SHA256,
        algorithms.HMAC_SHA256,
    )
}


class Fields:
    """Header fields, one for each line."""

    def __init__(self, lines):
        self.lines = list(lines)

    def items(self):
        return list(self.lines)

    def __iter__(self):
        return iter(dict.fromkeys(name for name, _ in self.lines))

    def __contains__(self, wanted):
        return any(name.lower() == wanted.lower() for name, _ in self.lines)

    def __setitem__(self, name, value):
        del self[name]
        self.lines.append((name, value))

    def __delitem__(self, unwanted):
        self.lines = [line for line in self.lines if line[0].lower() != unwanted.lower()]


@dataclass
class Request:
    method: str
    url: str
    headers: Fields


@dataclass
class Response:
    status_code: int
    headers: Fields
    request: Request


# --- Keys --------------------------------------------------------------------------------------


def new_key(name):
    match name:
        case "hmac-sha256":
            return {"secret": base64.b64encode(secrets.token_bytes(32)).decode()}
        case "ed25519":
            key = ed25519.Ed25519PrivateKey.generate()
        case "ecdsa-p256-sha256":
            key = ec.generate_private_key(ec.SECP256R1())
        case "ecdsa-p384-sha384":
            key = ec.generate_private_key(ec.SECP384R1())
        case _:
            key = rsa.generate_private_key(65537, 2048)
    return {"pem": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()}


class Keys:
    """The private keys of the owner, and the public ones of the other side."""

    def __init__(self, path, owner):
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        self.owner, self.private, self.public = owner, {}, {}
        for side, keys in stored.items():
            for name, key in keys.items():
                loaded = base64.b64decode(key["secret"]) if "secret" in key else load_pem_private_key(key["pem"].encode(), None)
                if side == owner:
                    self.private[f"{side}-{name}"] = loaded
                else:
                    self.public[f"{side}-{name}"] = loaded if isinstance(loaded, bytes) else loaded.public_key()

    def sign(self, message, name, **options):
        resolver = MappingKeyResolver(public_keys={}, private_keys=self.private)
        signer = HTTPMessageSigner(signature_algorithm=ALGORITHMS[name], key_resolver=resolver)
        signer.sign(message, key_id=f"{self.owner}-{name}", **options)

    def verify(self, message, name, public_keys=None, **options):
        """Returns the covered components, or raises HTTPMessageSignaturesException."""
        resolver = MappingKeyResolver(public_keys=public_keys or self.public, private_keys={})
        verifier = HTTPMessageVerifier(signature_algorithm=ALGORITHMS[name], key_resolver=resolver)
        (result,) = verifier.verify(message, **options)
        if options.get("body") and result.body != options["body"]:
            raise HTTPMessageSignaturesException("the body was not verified")
        return [component for component in result.covered_components if component != '"@signature-params"']

    def own_public_keys(self):
        return {name: key if isinstance(key, bytes) else key.public_key() for name, key in self.private.items()}


def reason(error):
    return f"{type(error).__name__}: {error}".rstrip(": ")


# --- The server --------------------------------------------------------------------------------

URL_PARTS = {False: ["@target-uri"], True: ["@authority", "@path", "@query"]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    keys = origin = port = None

    def log_message(self, *_):
        pass

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_inner = self.path.startswith("/inner/")
        # Where clients think that the server is: from its configuration, not from the request.
        if is_inner:
            url = f"{self.origin}/to/{self.port}" + self.path.removeprefix("/inner")
        else:
            url = f"http://127.0.0.1:{self.port}{self.path}"
        name = self.path.partition("?")[0].rpartition("/")[2]
        request = Request(self.command, url, Fields(self.headers.items()))
        try:
            covered = self.keys.verify(
                request, name, body=body, require_components=["@method"] + URL_PARTS[is_inner]
            )
            status, refusal = 200, ""
        except HTTPMessageSignaturesException as error:
            status, refusal, covered = 401, reason(error), []
        record = {
            "accepted": status == 200,
            "reason": refusal,
            "covered": covered,
            "method": self.command,
            "target": self.path,
            "headers": self.headers.items(),
            "body": base64.b64encode(body).decode(),
        }
        self.answer(status, json.dumps(record).encode(), request, name, is_inner)

    def answer(self, status, content, request, name, is_inner):
        change = self.headers.get("X-Change", "")
        bound = ['"@method";req'] + [f'"{part}";req' for part in URL_PARTS[is_inner]]
        if "content-digest" in request.headers:
            bound.append('"content-digest";req')
        if change == "request":
            request.method = "DELETE"
        headers = Fields([("Content-Type", "application/json")])
        self.keys.sign(
            Response(status, headers, request),
            name,
            body=content,
            covered_component_ids=["@status", "content-type"] + bound,
        )
        if change == "field":
            headers["Content-Type"] = "application/problem+json"
        if change == "body":
            content = content.replace(b'"accepted": true', b'"accepted": null')
        self.send_response(202 if change == "status" else status)
        for field in headers.items():
            self.send_header(*field)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = respond


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(port, path, origin):
    Handler.keys, Handler.origin, Handler.port = Keys(path, "server"), origin, port
    Server(("127.0.0.1", int(port)), Handler).serve_forever()


# --- The client --------------------------------------------------------------------------------


def send(path, authority):
    keys, wanted = Keys(path, "client"), json.load(sys.stdin)
    body, name = base64.b64decode(wanted["body"]), wanted["algorithm"]
    request = Request(wanted["method"], wanted["url"], Fields(map(tuple, wanted["headers"])))
    keys.sign(
        request,
        name,
        nonce=secrets.token_urlsafe(24),
        covered_component_ids=wanted["components"],
        body=body or None,
    )
    match wanted.get("change"):
        case "method":
            request.method = "PUT"
        case "field":
            request.headers["Authorization"] = "Bearer another"
        case "query":
            request.url = request.url.replace("state=open", "state=all")
        case "body":
            body = body.replace(b"1", b"2")
        case "digest":
            # A correct digest of other content, which isn't the signed one.
            body = body.replace(b"1", b"2")
            request.headers["Content-Digest"] = ContentDigest.create(body)
    try:
        keys.verify(request, name, keys.own_public_keys(), body=body)
        own = ""
    except HTTPMessageSignaturesException as error:
        own = reason(error)

    parts = urllib.parse.urlsplit(request.url)
    if parts.scheme == "https":
        trust = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=60, context=trust)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.putrequest(
        request.method, parts.path + (f"?{parts.query}" if parts.query else ""), skip_accept_encoding=True
    )
    for field in request.headers.items():
        connection.putheader(*field)
    if body and "content-length" not in request.headers:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    response = Response(answer.status, Fields(answer.getheaders()), request)
    try:
        keys.verify(response, name, body=content, require_components=["@status", '"@method";req'])
        refusal = ""
    except HTTPMessageSignaturesException as error:
        refusal = reason(error)
    print(json.dumps({"status": answer.status, "body": base64.b64encode(content).decode(), "own": own, "reason": refusal}))


match sys.argv[1]:
    case "keys":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump({side: {name: new_key(name) for name in ALGORITHMS} for side in ("client", "server")}, file)
    case "serve":
        serve(*sys.argv[2:])
    case "send":
        send(*sys.argv[2:])
