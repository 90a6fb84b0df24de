"""A token endpoint and an API that require DPoP proofs with nonces, for the OAuth2 interop tests.

requests_oauth2client verifies the proofs.

dpop_server.py PORT: listens on 127.0.0.1:PORT. Every client gets a token. The nonce changes after three
uses, and a proof without the latest one is rejected as RFC 9449 requires. For other rejections,
`error_description` has the reason.
"""

import base64
import hashlib
import logging
import secrets
import sys

import jwskate
from flask import Flask, jsonify, request
from requests_oauth2client.dpop import InvalidDPoPProof, validate_dpop_proof

port = int(sys.argv[1])
base = f"http://127.0.0.1:{port}"
app = Flask(__name__)
tokens, used = {}, set()


class Nonces:
    """The nonces of one endpoint."""

    def __init__(self):
        self.current, self.uses = secrets.token_urlsafe(16), 0

    def use(self, nonce):
        if nonce != self.current:
            return False
        self.uses += 1
        if self.uses == 3:
            self.current, self.uses = secrets.token_urlsafe(16), 0
        return True


nonces = {"token": Nonces(), "api": Nonces()}


def refusal(error, description="", status=400, place="token"):
    response = jsonify(error=error, error_description=description)
    response.headers["DPoP-Nonce"] = nonces[place].current
    if status == 401:
        response.headers["WWW-Authenticate"] = f'DPoP error="{error}", error_description="{description}", algs="ES256"'
    return response, status


def checked(place, path, ath=None):
    """Returns the thumbprint of a proof's key, or the error response."""
    status = 401 if place == "api" else 400
    proofs = request.headers.getlist("DPoP")
    if len(proofs) != 1:
        return None, refusal("invalid_dpop_proof", "not exactly one proof", status, place)
    try:
        algorithm = jwskate.SignedJwt(proofs[0]).alg
        if algorithm not in ("ES256", "ES384", "RS256"):
            raise ValueError("the algorithm is not supported")
        proof = validate_dpop_proof(proofs[0], htm=request.method, htu=base + path, ath=ath, leeway=60, algs=[algorithm])
    except (InvalidDPoPProof, jwskate.InvalidJwt, ValueError) as error:
        return None, refusal("invalid_dpop_proof", str(error).replace('"', "'")[:150], status, place)
    if proof.jwt_token_id in used:
        return None, refusal("invalid_dpop_proof", "used before", status, place)
    used.add(proof.jwt_token_id)
    if not nonces[place].use(proof.claims.get("nonce")):
        return None, refusal("use_dpop_nonce", "", status, place)
    return proof.headers["jwk"], None


def with_nonce(body, place):
    response = jsonify(body)
    response.headers["DPoP-Nonce"] = nonces[place].current
    return response


@app.post("/token")
def token():
    key, refused = checked("token", "/token")
    if refused:
        return refused
    text = secrets.token_urlsafe(24)
    tokens[text] = key
    return with_nonce({"access_token": text, "token_type": "DPoP", "expires_in": 300}, "token")


@app.get("/api")
def api():
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme != "DPoP" or text not in tokens:
        return refusal("invalid_token", "", 401, "api")
    ath = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    key, refused = checked("api", "/api", ath)
    if refused:
        return refused
    if key != tokens[text]:
        return refusal("invalid_token", "bound to another key", 401, "api")
    return with_nonce({"query": request.query_string.decode()}, "api")


logging.getLogger("werkzeug").setLevel(logging.ERROR)
app.run(host="127.0.0.1", port=port, threaded=False)
