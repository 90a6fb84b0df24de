"""Another implementation of ML-DSA tokens (RFC 9964), with the raw keys and signatures of `cryptography`,
which contains an OpenSSL of its own. It reads one JSON request per line, and writes one JSON response per line.

    python mldsa_peer.py

A KEY is {"pem": TEXT}, {"der": BASE64} or {"jwk": OBJECT}; CONTEXT is text, empty in valid tokens:
    {"do": "forms", "alg": NAME}                               -> a new key: {"private": {FORM: KEY}, "public": {FORM: KEY}}
    {"do": "check", "alg": NAME, "token": TEXT, "key": KEY}    -> {"accepted": true, "claims": OBJECT}
                                                                  or {"accepted": false, "reason": TEXT}
    {"do": "make", "alg": NAME, "key": KEY, "claims": OBJECT, "context": CONTEXT}
                                                               -> {"token": TEXT}
The library writes private keys as seeds only. The forms with the expanded key are from the `openssl`
command, which must be 3.5 or later. Any failure except a rejected token ends the program with a traceback
and status 1.
"""

import base64
import json
import subprocess
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, PublicFormat

PASSWORD = b"correct horse"
CLASSES = {
    "ML-DSA-44": (mldsa.MLDSA44PrivateKey, mldsa.MLDSA44PublicKey),
    "ML-DSA-65": (mldsa.MLDSA65PrivateKey, mldsa.MLDSA65PublicKey),
    "ML-DSA-87": (mldsa.MLDSA87PrivateKey, mldsa.MLDSA87PublicKey),
}
# The first two are RFC 9881's other forms, the others are OpenSSL's own.
OPENSSL_FORMS = {
    "both": "seed-priv", "expanded": "priv-only", "bare seed": "bare-seed", "bare expanded": "bare-priv",
    "with public key": "oqskeypair",
}


def decoded(text):
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def der(data):
    return {"der": base64.b64encode(data).decode()}


def private_key(alg, key):
    if "jwk" in key:
        jwk = key["jwk"]
        assert jwk["kty"] == "AKP" and jwk["alg"] == alg
        loaded = CLASSES[alg][0].from_seed_bytes(decoded(jwk["priv"]))
        assert loaded.public_key().public_bytes_raw() == decoded(jwk["pub"])
        return loaded
    kind, data = ("pem", key["pem"].encode()) if "pem" in key else ("der", base64.b64decode(key["der"]))
    load = getattr(serialization, f"load_{kind}_private_key")
    try:
        loaded = load(data, None)
    except TypeError:
        loaded = load(data, PASSWORD)
    assert isinstance(loaded, CLASSES[alg][0])
    return loaded


def public_key(alg, key):
    if "jwk" in key:
        assert key["jwk"]["kty"] == "AKP" and key["jwk"]["alg"] == alg
        return CLASSES[alg][1].from_public_bytes(decoded(key["jwk"]["pub"]))
    kind, data = ("pem", key["pem"].encode()) if "pem" in key else ("der", base64.b64decode(key["der"]))
    loaded = getattr(serialization, f"load_{kind}_public_key")(data)
    assert isinstance(loaded, CLASSES[alg][1])
    return loaded


def forms(alg):
    key = CLASSES[alg][0].generate()
    plain, locked = serialization.NoEncryption(), serialization.BestAvailableEncryption(PASSWORD)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, plain)
    public = key.public_key()
    jwk = {"kty": "AKP", "alg": alg, "pub": encoded(public.public_bytes_raw())}
    made = {
        "pkcs8 PEM": {"pem": pem.decode()},
        "pkcs8 DER": der(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, plain)),
        "encrypted PEM": {"pem": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked).decode()},
        "encrypted DER": der(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, locked)),
        "jwk": {"jwk": jwk | {"priv": encoded(key.private_bytes_raw())}},
    }
    for name, form in OPENSSL_FORMS.items():
        command = ["openssl", "pkey", "-provparam", f"ml-dsa.output_formats={form}"]
        written = subprocess.run(command, input=pem, capture_output=True, check=True).stdout
        made[name] = {"pem": written.decode()}
    return {
        "private": made,
        "public": {
            "spki PEM": {"pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()},
            "spki DER": der(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
            "jwk": {"jwk": jwk},
        },
    }


def check(alg, token, key):
    try:
        signed, signature = token.rsplit(".", 1)
        header, payload = signed.split(".")
        if json.loads(decoded(header)).get("alg") != alg:
            raise InvalidSignature("another algorithm")
        public_key(alg, key).verify(decoded(signature), signed.encode())
        return {"accepted": True, "claims": json.loads(decoded(payload))}
    except (InvalidSignature, ValueError) as error:
        return {"accepted": False, "reason": f"{type(error).__name__}: {error}"}


def make(alg, key, claims, context):
    parts = [{"alg": alg}, claims]
    signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    signature = private_key(alg, key).sign(signed.encode(), context.encode() or None)
    return {"token": f"{signed}.{encoded(signature)}"}


FUNCTIONS = {"forms": forms, "check": check, "make": make}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(FUNCTIONS[request.pop("do")](**request)))


if __name__ == "__main__":
    main()
