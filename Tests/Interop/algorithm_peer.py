"""Another implementation of JOSE, for every algorithm and key format. It reads one JSON request per
line, and writes one JSON response per line.

    python algorithm_peer.py pyjwt|joserfc|jwcrypto

A KEY is {"pem": TEXT}, {"der": BASE64} or {"jwk": OBJECT}:
    {"do": "supports", "alg": NAME}                            -> {"supported": BOOLEAN}
    {"do": "check", "alg": NAME, "token": TEXT, "key": KEY}    -> {"accepted": true, "claims": OBJECT}
                                                                  or {"accepted": false, "reason": TEXT}
    {"do": "make", "alg": NAME, "key": KEY, "claims": OBJECT}  -> {"token": TEXT}
    {"do": "forms", "alg": NAME}                               -> a new key: {"private": {FORM: KEY}, "public": {FORM: KEY}}
Any failure except a rejected token ends the program with a traceback and status 1.
"""

import base64
import json
import secrets
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, rsa

PASSWORD = b"correct horse"
CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1, "ES256K": ec.SECP256K1}
MLDSA = {
    "ML-DSA-44": mldsa.MLDSA44PrivateKey, "ML-DSA-65": mldsa.MLDSA65PrivateKey, "ML-DSA-87": mldsa.MLDSA87PrivateKey,
}


def new_key(alg):
    if alg in CURVES:
        return ec.generate_private_key(CURVES[alg]())
    if alg in MLDSA:
        return MLDSA[alg].generate()
    if alg == "Ed448":
        return ed448.Ed448PrivateKey.generate()
    if alg in ("Ed25519", "EdDSA"):
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def written_private(key, encoding, format, encryption=None):
    return key.private_bytes(encoding, format, encryption or serialization.NoEncryption())


def as_key(encoding, data):
    if encoding == serialization.Encoding.PEM:
        return {"pem": data.decode()}
    return {"der": base64.b64encode(data).decode()}


def as_pem(key):
    """Converts a key in PEM or DER with `cryptography` to PEM that every library reads."""
    data = key["pem"].encode() if "pem" in key else base64.b64decode(key["der"])
    kind = "pem" if "pem" in key else "der"
    private = getattr(serialization, f"load_{kind}_private_key")
    public = getattr(serialization, f"load_{kind}_public_key")
    try:
        loaded = private(data, None)
    except (ValueError, TypeError):
        try:
            loaded = private(data, PASSWORD)
        except (ValueError, TypeError):
            return public(data).public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
    return written_private(loaded, serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


class Library:
    def forms(self, alg):
        if alg.startswith("HS"):
            k = base64.urlsafe_b64encode(secrets.token_bytes(int(alg[2:]) // 8)).rstrip(b"=").decode()
            jwk = {"jwk": self.rewritten({"kty": "oct", "k": k})}
            return {"private": {"jwk": jwk}, "public": {"jwk": jwk}}
        key = new_key(alg)
        made = {"private": {}, "public": {}}
        formats = {"pkcs8": serialization.PrivateFormat.PKCS8}
        public_formats = {"spki": serialization.PublicFormat.SubjectPublicKeyInfo}
        if not alg.startswith(("Ed", "ML-DSA")):
            formats["traditional"] = serialization.PrivateFormat.TraditionalOpenSSL
        if alg[:2] in ("RS", "PS"):
            public_formats["pkcs1"] = serialization.PublicFormat.PKCS1
        for kind, encoding in (("PEM", serialization.Encoding.PEM), ("DER", serialization.Encoding.DER)):
            for name, format in formats.items():
                made["private"][f"{name} {kind}"] = as_key(encoding, written_private(key, encoding, format))
            locked = serialization.BestAvailableEncryption(PASSWORD)
            encrypted = written_private(key, encoding, serialization.PrivateFormat.PKCS8, locked)
            made["private"][f"encrypted {kind}"] = as_key(encoding, encrypted)
            for name, format in public_formats.items():
                data = key.public_key().public_bytes(encoding, format)
                made["public"][f"{name} {kind}"] = as_key(encoding, data)
        pem = written_private(key, serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
        made["private"]["jwk"] = {"jwk": self.jwk(alg, pem, True)}
        made["public"]["jwk"] = {"jwk": self.jwk(alg, pem, False)}
        return made

    def supports(self, alg):
        return {"supported": alg in self.names()}

    def check(self, alg, token, key):
        try:
            return {"accepted": True, "claims": self.verified(alg, token, self.key(alg, key))}
        except Exception as error:
            return {"accepted": False, "reason": f"{type(error).__name__}: {error}"}


class PyJWT(Library):
    def names(self):
        from jwt.algorithms import get_default_algorithms

        return get_default_algorithms()

    def key(self, alg, key):
        import jwt

        return jwt.PyJWK.from_dict(key["jwk"], algorithm=alg).key if "jwk" in key else as_pem(key)

    def verified(self, alg, token, key):
        import jwt

        return jwt.decode(token, key, algorithms=[alg], options={"verify_aud": False})

    def make(self, alg, key, claims):
        import jwt

        return {"token": jwt.encode(claims, self.key(alg, key), algorithm=alg)}

    def jwk(self, alg, pem, private):
        algorithm = self.names()[alg]
        key = algorithm.prepare_key(pem)
        return algorithm.to_jwk(key if private else key.public_key(), as_dict=True)

    def rewritten(self, jwk):
        return jwk


class Joserfc(Library):
    def names(self):
        from joserfc.jws import JWSRegistry

        return JWSRegistry.algorithms

    def key(self, alg, key):
        from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

        if "jwk" in key:
            return JWKRegistry.import_key(key["jwk"])
        kind = ECKey if alg in CURVES else OKPKey if alg.startswith("Ed") else RSAKey
        return kind.import_key(as_pem(key))

    def verified(self, alg, token, key):
        from joserfc import jwt
        from joserfc.jws import JWSRegistry

        registry = JWSRegistry(algorithms=[alg])
        return jwt.decode(token, key, algorithms=[alg], registry=registry).claims

    def make(self, alg, key, claims):
        from joserfc import jwt

        return {"token": jwt.encode({"alg": alg}, claims, self.key(alg, key), algorithms=[alg])}

    def jwk(self, alg, pem, private):
        return self.key(alg, {"pem": pem.decode()}).as_dict(private=private)

    def rewritten(self, jwk):
        from joserfc.jwk import OctKey

        return OctKey.import_key(jwk).as_dict(private=True)


class Jwcrypto(Library):
    def names(self):
        from jwcrypto.jws import default_allowed_algs

        return default_allowed_algs + ["ES256K"]

    def key(self, alg, key):
        from jwcrypto.jwk import JWK

        return JWK(**key["jwk"]) if "jwk" in key else JWK.from_pem(as_pem(key))

    def verified(self, alg, token, key):
        from jwcrypto.jwt import JWT

        return json.loads(JWT(jwt=token, key=key, algs=[alg], expected_type="JWS").claims)

    def make(self, alg, key, claims):
        from jwcrypto.jwt import JWT

        token = JWT(header={"alg": alg}, claims=claims, algs=[alg])
        token.make_signed_token(self.key(alg, key))
        return {"token": token.serialize()}

    def jwk(self, alg, pem, private):
        key = self.key(alg, {"pem": pem.decode()})
        return key.export_private(as_dict=True) if private else key.export_public(as_dict=True)

    def rewritten(self, jwk):
        from jwcrypto.jwk import JWK

        return JWK(**jwk).export_symmetric(as_dict=True)


LIBRARIES = {"pyjwt": PyJWT, "joserfc": Joserfc, "jwcrypto": Jwcrypto}


def main():
    library = LIBRARIES[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(library, request.pop("do"))(**request)))


if __name__ == "__main__":
    main()
