"""Another implementation of JWS with any payload. It reads one JSON request per line, and writes one
JSON response per line.

    python jws_peer.py pyjwt|joserfc|jwcrypto

OCTETS is base64url text. A detached payload is OCTETS, an attached one null. JWK is an object with "alg".
    {"do": "check", "text": TEXT, "payload": OCTETS or null, "key": JWK}
        -> {"accepted": true, "payload": OCTETS} or {"accepted": false, "reason": TEXT}
    {"do": "make", "form": "compact"|"flattened"|"general", "payload": OCTETS, "detached": BOOLEAN, "signers":
        [{"key": JWK, "protected": OBJECT, "header": OBJECT or null}]}
        -> {"text": TEXT}
The text of a check is compact or JSON. Any failure except a rejected text ends the program with a
traceback and status 1.
"""

import base64
import json
import sys


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_json(text):
    return text.lstrip().startswith("{")


def is_unencoded(protected):
    return protected.get("b64", True) is False


def first_protected(value):
    entry = value["signatures"][0] if "signatures" in value else value
    return json.loads(decoded(entry["protected"]))


class PyJWT:
    """Supports compact JWS only, and detached payloads exactly if they are unencoded."""

    def check(self, text, payload, key):
        import jwt

        result = jwt.PyJWS().decode_complete(
            text, jwt.PyJWK.from_dict(key), algorithms=[key["alg"]], detached_payload=payload
        )
        return result["payload"]

    def make(self, form, payload, detached, signers):
        import jwt

        assert form == "compact"
        key = jwt.PyJWK.from_dict(signers[0]["key"])
        protected = {name: value for name, value in signers[0]["protected"].items() if name not in ("b64", "crit")}
        unencoded = is_unencoded(signers[0]["protected"])
        assert unencoded == detached
        return jwt.PyJWS().encode(
            payload, key, key.algorithm_name, headers=protected, is_payload_detached=detached
        )


class Joserfc:
    def key(self, key):
        from joserfc.jwk import import_key

        return import_key(key)

    def registry(self, *algorithms):
        from joserfc.jws import JWSRegistry

        # RFC 7515 section 4: ignore unknown header members, which the library doesn't by default.
        return JWSRegistry(algorithms=list(algorithms), strict_check_header=False)

    def check(self, text, payload, key):
        from joserfc import jws

        registry = self.registry(key["alg"])
        if not is_json(text):
            return jws.deserialize_compact(text, self.key(key), registry=registry, payload=payload).payload
        value = json.loads(text)
        if payload is not None:
            # Reinsert the payload (RFC 7515 appendix F).
            value["payload"] = payload.decode() if is_unencoded(first_protected(value)) else encoded(payload)
        found = jws.deserialize_json(value, self.key(key), registry=registry).payload
        return found if isinstance(found, bytes) else found.encode()

    def make(self, form, payload, detached, signers):
        from joserfc import jws

        registry = self.registry(*[signer["key"]["alg"] for signer in signers])
        if form == "compact":
            text = jws.serialize_compact(
                signers[0]["protected"], payload, self.key(signers[0]["key"]), registry=registry
            )
            head, middle, proof = text.split(".")
            return f"{head}..{proof}" if detached else text
        members = [
            {"protected": signer["protected"]} | ({"header": signer["header"]} if signer["header"] else {})
            for signer in signers
        ]
        # All signers of a call have the same key.
        key = self.key(signers[0]["key"])
        value = jws.serialize_json(members if form == "general" else members[0], payload, key, registry=registry)
        if detached:
            del value["payload"]
        return json.dumps(value)


class Jwcrypto:
    def key(self, key):
        from jwcrypto.jwk import JWK

        return JWK.from_json(json.dumps(key))

    def check(self, text, payload, key):
        from jwcrypto.jws import JWS

        token = JWS()
        token.allowed_algs = [key["alg"]]
        token.deserialize(text)
        if payload is not None and not is_json(text):
            # An empty second segment means a detached payload.
            token.detach_payload()
        token.verify(self.key(key), detached_payload=payload)
        found = token.payload if payload is None else payload
        return found if isinstance(found, bytes) else found.encode()

    def make(self, form, payload, detached, signers):
        from jwcrypto.jws import JWS

        # The library writes an unencoded payload into JSON only if it's a string.
        token = JWS(payload.decode() if is_unencoded(signers[0]["protected"]) else payload)
        for signer in signers:
            token.add_signature(
                self.key(signer["key"]), None, json.dumps(signer["protected"]),
                json.dumps(signer["header"]) if signer["header"] else None,
            )
        if form == "compact":
            head, middle, proof = token.serialize(compact=True).split(".")
            return f"{head}.{'' if detached else middle}.{proof}"
        value = json.loads(token.serialize())
        if detached:
            del value["payload"]
        return json.dumps(value)


PEERS = {"pyjwt": PyJWT, "joserfc": Joserfc, "jwcrypto": Jwcrypto}


def checked(peer, text, payload, key):
    try:
        found = peer.check(text, None if payload is None else decoded(payload), key)
    except Exception as error:
        return {"accepted": False, "reason": f"{type(error).__name__}: {error}"}
    return {"accepted": True, "payload": encoded(found)}


def main():
    peer = PEERS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        if request.pop("do") == "make":
            request["payload"] = decoded(request["payload"])
            answer = {"text": peer.make(**request)}
        else:
            answer = checked(peer, **request)
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
