"""sd-jwt-python, the reference implementation of SD-JWTs. It reads one JSON request per line, and
writes one JSON response per line.

    python sdjwt_peer.py

A PATH is an array of names and indices, and a KEY is a JWK. FORM is "compact" or "json":
    {"do": "issue", "claims": OBJECT, "disclosable": [PATH], "key": KEY, "holder": KEY or null,
     "decoys": BOOLEAN, "hash": NAME, "form": FORM}                          -> {"token": TEXT}
    {"do": "present", "token": TEXT, "disclose": [PATH], "binding": BINDING or null, "hash": NAME,
     "form": FORM}                                                           -> {"token": TEXT}
    {"do": "verify", "token": TEXT, "key": KEY, "nonce": TEXT or null, "aud": TEXT or null,
     "hash": NAME, "form": FORM}                     -> {"claims": OBJECT} or {"refused": TEXT}
A BINDING is {"key": KEY, "nonce": TEXT, "aud": TEXT}. Any other failure ends the program with a
traceback and status 1.

The library's JSON is that of an early draft: "disclosures" and "kb_jwt" are members of the object.
Requests and responses have them in the unprotected header, as RFC 9901 section 8 requires.
"""

import hashlib
import json
import sys

from jwcrypto.jwk import JWK
from sd_jwt.common import SDJWTCommon, SDObj
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer
from sd_jwt.verifier import SDJWTVerifier

MEMBERS = ["disclosures", "kb_jwt"]


def use(name):
    SDJWTCommon.HASH_ALG = {"name": name, "fn": getattr(hashlib, name.replace("-", ""))}


def key(jwk):
    return JWK(**jwk) if jwk else None


def marked(claims, paths):
    """Marks the claims at the paths as disclosable."""
    inner = lambda step: [path[1:] for path in paths if path and path[0] == step]
    wrapped = lambda step, value: SDObj(value) if [] in inner(step) else value
    if isinstance(claims, dict):
        return {wrapped(name, name): marked(value, inner(name)) for name, value in claims.items()}
    if isinstance(claims, list):
        return [wrapped(index, marked(value, inner(index))) for index, value in enumerate(claims)]
    return claims


def selection(value, paths, disclosed):
    """Returns what the library's holder expects: nested objects and arrays with true for claims.

    The library counts the digests of hidden elements and decoys in arrays. Paths don't.
    """
    steps = {}
    for path in paths:
        if path:
            steps.setdefault(path[0], []).append(path[1:])
    if not steps:
        return True
    if isinstance(value, dict):
        hidden = [disclosed[digest] for digest in value.get("_sd", []) if digest in disclosed]
        members = value | {name: content for _, name, content in hidden}
        return {name: selection(members[name], rest, disclosed) for name, rest in steps.items()}
    result, index = [], 0
    for element in value:
        digest = element.get("...") if isinstance(element, dict) else None
        if digest and digest not in disclosed:
            result.append(None)
            continue
        content = disclosed[digest][1] if digest else element
        result.append(selection(content, steps[index], disclosed) if index in steps else None)
        index += 1
    return result


def first_header(token):
    return (token["signatures"][0] if "signatures" in token else token).setdefault("header", {})


def from_library(text, form):
    if form == "compact":
        return text
    token = json.loads(text)
    first_header(token).update({name: token.pop(name) for name in MEMBERS if name in token})
    return json.dumps(token)


def to_library(text, form):
    if form == "compact":
        return text
    token = json.loads(text)
    header = first_header(token)
    token.update({name: header.pop(name) for name in MEMBERS if name in header})
    return json.dumps(token)


def issue(claims, disclosable, key_, holder, decoys, form):
    issuer = SDJWTIssuer(
        marked(claims, disclosable), key(key_), key(holder), add_decoy_claims=decoys, serialization_format=form
    )
    return {"token": from_library(issuer.sd_jwt_issuance, form)}


def present(token, disclose, binding, form):
    holder = SDJWTHolder(to_library(token, form), serialization_format=form)
    arguments = [binding["nonce"], binding["aud"], key(binding["key"])] if binding else []
    chosen = selection(holder.sd_jwt_payload, disclose, holder._hash_to_decoded_disclosure) if disclose else {}
    holder.create_presentation(chosen, *arguments)
    return {"token": from_library(holder.sd_jwt_presentation, form)}


def verify(token, key_, nonce, aud, form):
    try:
        verifier = SDJWTVerifier(
            to_library(token, form), lambda issuer, header: key(key_), aud, nonce, serialization_format=form
        )
        return {"claims": verifier.get_verified_payload()}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


ACTIONS = {"issue": issue, "present": present, "verify": verify}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        use(request.pop("hash", "sha-256"))
        action = ACTIONS[request.pop("do")]
        if "key" in request:
            request["key_"] = request.pop("key")
        print(json.dumps(action(**request)))


if __name__ == "__main__":
    main()
