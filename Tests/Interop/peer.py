"""Another implementation of JOSE. It reads one JSON request per line, and writes one JSON response per
line.

    python peer.py pyjwt|joserfc|jwcrypto|openssl

Requests, all for ES256; a KEY is {"pem": TEXT} or {"jwk": OBJECT}:
    {"do": "check", "token": TEXT, "key": KEY}      -> {"accepted": true, "header": OBJECT, "claims": OBJECT}
                                                       or {"accepted": false, "reason": TEXT}
    {"do": "make", "key": KEY, "header": OBJECT, "claims": OBJECT} -> {"token": TEXT}
    {"do": "generate"}                              -> {"pkcs8", "sec1", "spki": PEM, and those that the library writes of
                                                       "privateJWK", "publicJWK", "thumbprint"}
    {"do": "describe", "key": KEY}                  -> {"spki": PEM, and those that the library writes of
                                                       "publicJWK", "thumbprint"}
Any failure except a rejected token ends the program with a traceback and status 1.
"""

import base64
import hashlib
import json
import subprocess
import sys
import tempfile


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def refused(error):
    """The response for a token that raised any exception, which counts as rejected. Valid tokens raise none."""
    return {"accepted": False, "reason": f"{type(error).__name__}: {error}"}


class CryptographyKeys:
    """Keys for the three libraries, all of which use `cryptography`."""

    def generate(self):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())

        def private(format):
            return key.private_bytes(
                serialization.Encoding.PEM, format, serialization.NoEncryption()
            ).decode()

        pkcs8 = private(serialization.PrivateFormat.PKCS8)
        made = {
            "pkcs8": pkcs8,
            "encryptedPKCS8": key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(b"correct horse"),
            ).decode(),
            "sec1": private(serialization.PrivateFormat.TraditionalOpenSSL),
        }
        return made | self.jwks(pkcs8) | self.describe({"pem": pkcs8})

    def describe(self, key):
        from cryptography.hazmat.primitives import serialization

        public = self.public(key)
        pem = public.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()
        return {"spki": pem} | self.written(pem)

    def public(self, key):
        """The `cryptography` public key."""
        if "pem" in key:
            return self.loaded(key["pem"])
        return self.loaded(self.pem(key["jwk"]))

    def loaded(self, pem):
        from cryptography.hazmat.primitives import serialization

        if "PRIVATE" in pem:
            return serialization.load_pem_private_key(pem.encode(), None).public_key()
        return serialization.load_pem_public_key(pem.encode())


class PyJWT(CryptographyKeys):
    def key(self, key):
        import jwt

        if "jwk" in key:
            return jwt.PyJWK.from_dict(key["jwk"], algorithm="ES256").key
        return key["pem"]

    def check(self, token, key):
        import jwt

        try:
            options = {"verify_aud": False}
            result = jwt.decode_complete(token, self.key(key), algorithms=["ES256"], options=options)
        except Exception as error:
            return refused(error)
        return {"accepted": True, "header": result["header"], "claims": result["payload"]}

    def make(self, key, header, claims):
        import jwt

        return jwt.encode(claims, self.key(key), algorithm="ES256", headers=header)

    def jwks(self, pem):
        from jwt.algorithms import ECAlgorithm

        algorithm = ECAlgorithm(ECAlgorithm.SHA256)
        return {"privateJWK": algorithm.to_jwk(algorithm.prepare_key(pem), as_dict=True)}

    def written(self, pem):
        from jwt.algorithms import ECAlgorithm

        algorithm = ECAlgorithm(ECAlgorithm.SHA256)
        return {"publicJWK": algorithm.to_jwk(algorithm.prepare_key(pem), as_dict=True)}

    def pem(self, jwk):
        from cryptography.hazmat.primitives import serialization
        import jwt

        key = jwt.PyJWK.from_dict(jwk, algorithm="ES256").key
        public = key.public_key() if "d" in jwk else key
        return public.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()


class Joserfc(CryptographyKeys):
    def key(self, key):
        from joserfc.jwk import ECKey

        return ECKey.import_key(key["jwk"] if "jwk" in key else key["pem"])

    def check(self, token, key):
        from joserfc import jwt
        from joserfc.jws import JWSRegistry

        # RFC 7515 section 4: ignore unknown header members, which the library doesn't by default.
        registry = JWSRegistry(algorithms=["ES256"], strict_check_header=False)
        try:
            result = jwt.decode(token, self.key(key), algorithms=["ES256"], registry=registry)
            jwt.JWTClaimsRegistry().validate(result.claims)
        except Exception as error:
            return refused(error)
        return {"accepted": True, "header": result.header, "claims": result.claims}

    def make(self, key, header, claims):
        from joserfc import jwt

        return jwt.encode({"alg": "ES256"} | header, claims, self.key(key), algorithms=["ES256"])

    def jwks(self, pem):
        return {"privateJWK": self.key({"pem": pem}).as_dict(private=True)}

    def written(self, pem):
        key = self.key({"pem": pem})
        return {"publicJWK": key.as_dict(private=False), "thumbprint": key.thumbprint()}

    def pem(self, jwk):
        return self.key({"jwk": jwk}).as_pem(private=False).decode()


class Jwcrypto(CryptographyKeys):
    def key(self, key):
        from jwcrypto.jwk import JWK

        if "jwk" in key:
            return JWK.from_json(json.dumps(key["jwk"]))
        return JWK.from_pem(key["pem"].encode())

    def check(self, token, key):
        from jwcrypto.jwt import JWT

        try:
            result = JWT(jwt=token, key=self.key(key), algs=["ES256"], expected_type="JWS")
        except Exception as error:
            return refused(error)
        return {
            "accepted": True,
            "header": json.loads(result.header),
            "claims": json.loads(result.claims),
        }

    def make(self, key, header, claims):
        from jwcrypto.jwt import JWT

        token = JWT(header={"alg": "ES256"} | header, claims=claims)
        token.make_signed_token(self.key(key))
        return token.serialize()

    def jwks(self, pem):
        return {"privateJWK": self.key({"pem": pem}).export_private(as_dict=True)}

    def written(self, pem):
        key = self.key({"pem": pem})
        return {"publicJWK": key.export_public(as_dict=True), "thumbprint": key.thumbprint()}

    def pem(self, jwk):
        return self.key({"jwk": jwk}).export_to_pem(private_key=False).decode()


class OpenSSL:
    """The openssl command. It doesn't support JOSE, so this class parses tokens and converts r and s to DER and back."""

    def run(self, *arguments, input=b""):
        return subprocess.run(["openssl", *arguments], input=input, capture_output=True, check=True).stdout

    def check(self, token, key):
        try:
            head, payload, signature = token.split(".")
            header, claims = json.loads(decoded(head)), json.loads(decoded(payload))
            if header["alg"] != "ES256":
                raise ValueError("alg")
            der = self.der(decoded(signature))
            with tempfile.NamedTemporaryFile() as public, tempfile.NamedTemporaryFile() as proof:
                public.write(key["pem"].encode())
                public.flush()
                proof.write(der)
                proof.flush()
                self.run(
                    "dgst", "-sha256", "-verify", public.name, "-signature", proof.name,
                    input=f"{head}.{payload}".encode(),
                )
        except Exception as error:
            return refused(error)
        return {"accepted": True, "header": header, "claims": claims}

    def make(self, key, header, claims):
        parts = [{"alg": "ES256"} | header, claims]
        signing_input = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        with tempfile.NamedTemporaryFile() as private:
            private.write(key["pem"].encode())
            private.flush()
            der = self.run("dgst", "-sha256", "-sign", private.name, input=signing_input.encode())
        return f"{signing_input}.{encoded(self.raw(der))}"

    def der(self, raw):
        if len(raw) != 64:
            raise ValueError(f"a signature of {len(raw)} octets")
        body = b""
        for half in (raw[:32], raw[32:]):
            digits = half.lstrip(b"\0") or b"\0"
            if digits[0] & 0x80:
                digits = b"\0" + digits
            body += bytes([2, len(digits)]) + digits
        return bytes([0x30, len(body)]) + body

    def raw(self, der):
        assert der[0] == 0x30 and der[1] == len(der) - 2
        raw, rest = b"", der[2:]
        while rest:
            assert rest[0] == 2
            raw += rest[2 : 2 + rest[1]].lstrip(b"\0").rjust(32, b"\0")
            rest = rest[2 + rest[1] :]
        assert len(raw) == 64
        return raw

    def generate(self):
        sec1 = self.run("ecparam", "-name", "prime256v1", "-genkey").decode()  # preceded by EC PARAMETERS
        pkcs8 = self.run("pkcs8", "-topk8", "-nocrypt", input=sec1.encode()).decode()
        locked = self.run(
            "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", "pass:correct horse", input=sec1.encode()
        ).decode()
        return {"pkcs8": pkcs8, "encryptedPKCS8": locked, "sec1": sec1} | self.describe({"pem": pkcs8})

    def describe(self, key):
        if "PRIVATE" in key["pem"]:
            spki = self.run("ec", "-pubout", input=key["pem"].encode()).decode()
        else:
            spki = self.run("pkey", "-pubin", "-pubout", input=key["pem"].encode()).decode()
        point = self.run("pkey", "-pubin", "-outform", "DER", input=spki.encode())[-64:]
        jwk = {"crv": "P-256", "kty": "EC", "x": encoded(point[:32]), "y": encoded(point[32:])}
        canonical = json.dumps(jwk, separators=(",", ":"), sort_keys=True).encode()
        return {"spki": spki, "publicJWK": jwk, "thumbprint": encoded(hashlib.sha256(canonical).digest())}


PEERS = {"pyjwt": PyJWT, "joserfc": Joserfc, "jwcrypto": Jwcrypto, "openssl": OpenSSL}


def main():
    peer = PEERS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        answer = getattr(peer, action)(**request)
        if action == "make":
            answer = {"token": answer}
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
