"""Another implementation of JWE, for every algorithm. It reads one JSON request per line, and
writes one JSON response per line.

    python jwe_peer.py joserfc|jwcrypto

A KEY is {"jwk": OBJECT} or {"password": TEXT}:
    {"do": "decrypt", "alg": NAME, "enc": NAME, "token": TEXT or OBJECT, "key": KEY} -> {"content": TEXT}
    {"do": "encrypt", "alg": NAME, "enc": NAME, "content": TEXT, "key": KEY}         -> {"token": TEXT}
A JSON token is in the general serialization. Any failure ends the program with a traceback and
status 1.
"""

import json
import sys


class Joserfc:
    def registry(self, alg, enc):
        from joserfc.jwe import JWERegistry

        # Its own limits are below the sizes of some tests, and far below OWASP's iteration counts.
        registry = JWERegistry(algorithms=[alg, enc])
        registry.max_ciphertext_length = 1 << 20
        return registry

    def key(self, key):
        from joserfc.jwk import JWKRegistry, OctKey

        if "password" in key:
            return OctKey.import_key(key["password"])
        # Its keys for dir must not state another algorithm than “dir”.
        return JWKRegistry.import_key({name: value for name, value in key["jwk"].items() if name != "alg"})

    def decrypt(self, alg, enc, token, key):
        from joserfc import jwe

        decrypt = jwe.decrypt_compact if isinstance(token, str) else jwe.decrypt_json
        return {"content": decrypt(token, self.key(key), registry=self.registry(alg, enc)).plaintext.decode()}

    def encrypt(self, alg, enc, content, key):
        from joserfc import jwe

        header = {"alg": alg, "enc": enc}
        return {"token": jwe.encrypt_compact(header, content, self.key(key), registry=self.registry(alg, enc))}


class Jwcrypto:
    def key(self, key):
        from jwcrypto.jwk import JWK

        if "password" in key:
            return key["password"]
        return JWK(**{name: value for name, value in key["jwk"].items() if name != "alg"})

    def decrypt(self, alg, enc, token, key):
        from jwcrypto.jwe import JWE

        made = JWE(algs=[alg, enc])
        made.deserialize(token if isinstance(token, str) else json.dumps(token), self.key(key))
        return {"content": made.payload.decode()}

    def encrypt(self, alg, enc, content, key):
        from jwcrypto.jwe import JWE

        made = JWE(content.encode(), json.dumps({"alg": alg, "enc": enc}), algs=[alg, enc])
        made.add_recipient(self.key(key))
        return {"token": made.serialize(compact=True)}


LIBRARIES = {"joserfc": Joserfc, "jwcrypto": Jwcrypto}


def main():
    library = LIBRARIES[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(library, request.pop("do"))(**request)))


if __name__ == "__main__":
    main()
