"""Generates Docs/Interop.md from the tests' results: matrix.py FILE, to standard output.

Each line of FILE is a feature, a server, and the result: `passed`, `lacks`, or `differs` with the
description. For signed messages, it's an algorithm, the library, and the exchange that passed.
"""

import importlib.metadata
import sys
import textwrap

servers = {
    "glewlwyd": "Glewlwyd",
    "django": "django-oauth-toolkit",
    "authlib": "Authlib",
    "idpyoidc": "idpyoidc",
    "canaille": "Canaille",
    "mock": "oidc-provider-mock",
}
order = [
    "Discovery (OpenID Connect)", "Discovery (RFC 8414)", "`none`", "`client_secret_basic`", "`client_secret_post`",
    "`client_secret_jwt`", "`private_key_jwt`", "`tls_client_auth`", "`self_signed_tls_client_auth`", "Mutual TLS endpoint aliases",
    "Client credentials", "Authorization code with PKCE", "Device authorization", "JWT bearer",
    "Refresh token rotation", "Refresh token reuse detection", "Grace period for lost refresh responses",
    "Token exchange", "JWT access tokens (RFC 9068)", "Introspection", "Revocation",
    "Pushed authorization requests", "Signed authorization requests", "401 and 403 responses of resources", "Protected resource metadata (RFC 9728)",
    "UserInfo", "Signed UserInfo", "Registration (RFC 7591)", "Registration management (RFC 7592)", "DPoP",
    "Certificate-bound tokens",
]
peer = "http-message-signatures"
algorithms = [
    "`ed25519`", "`ecdsa-p256-sha256`", "`ecdsa-p384-sha384`", "`rsa-pss-sha512`", "`rsa-v1_5-sha256`", "`hmac-sha256`",
]
exchanges = [
    "our requests", "its requests", "our responses", "its responses", "ours through nginx", "its through nginx",
]


def wrapped(text, indent=0):
    """The text in lines of at most 100 columns."""
    return textwrap.fill(
        text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


found, notes = {}, []
with open(sys.argv[1], encoding="utf-8") as file:
    lines = sorted(set(file.read().splitlines()))
signed = {tuple(line.split("\t")) for line in lines if f"\t{peer}\t" in line}
for feature, server, outcome, *reason in (line.split("\t") for line in lines if f"\t{peer}\t" not in line):
    if (feature, server) in found:
        raise SystemExit(f"error: {feature} has two results for {server}")
    found[feature, server] = (outcome, *reason)
features = {feature for feature, _ in found}
if unknown := features - set(order):
    raise SystemExit(f"error: unknown features {sorted(unknown)}; add them to `order` in matrix.py")

if unknown := {(algorithm, exchange) for algorithm, _, exchange in signed} - {
    (algorithm, exchange) for algorithm in algorithms for exchange in exchanges
}:
    raise SystemExit(f"error: unknown exchanges {sorted(unknown)}; add them to matrix.py")

print("# Interoperation with other implementations\n")
print(
    wrapped(
        "`bash Tests/Interop/run` starts other projects' authorization servers, runs `InteropTests` "
        "against them over loopback connections, and generates this page. The tests verify each "
        "result: “passed”, “not supported”, or “differs” with the number of a deviation from the "
        "standard. For an unsupported feature, they also send a request, check the server's "
        "metadata, and search the source of the server's library."
    )
    + "\n"
)
print(f"""| server | version | written in |
|---|---|---|
| [Glewlwyd](https://github.com/babelouest/glewlwyd) | Debian's package | C |
| [django-oauth-toolkit](https://github.com/django-oauth/django-oauth-toolkit) | {importlib.metadata.version("django-oauth-toolkit")} | Python |
| [Authlib](https://github.com/authlib/authlib) with Flask | {importlib.metadata.version("authlib")} | Python |
| [idpyoidc](https://github.com/IdentityPython/idpy-oidc) with Flask | {importlib.metadata.version("idpyoidc")} | Python |
| [Canaille](https://gitlab.com/yaal/canaille) on Authlib | {importlib.metadata.version("canaille")} | Python |
| [oidc-provider-mock](https://github.com/geigerzaehler/oidc-provider-mock) on Authlib | {importlib.metadata.version("oidc-provider-mock")} | Python |
""")
print("| feature | " + " | ".join(servers.values()) + " |")
print("|---|" + "---|" * len(servers))
for feature in (f for f in order if f in features):
    cells = []
    for server in servers:
        if (feature, server) not in found:
            raise SystemExit(f"error: {feature} has no result for {servers[server]}")
        outcome, *reason = found[feature, server]
        if outcome == "differs":
            notes.append(f"{servers[server]}, {feature}: {reason[0]}.")
            outcome = f"differs ({len(notes)})"
        cells.append({"lacks": "not supported"}.get(outcome, outcome))
    print(f"| {feature} | " + " | ".join(cells) + " |")
version = importlib.metadata.version("requests_oauth2client")
sentence = (
    f"[requests_oauth2client](https://github.com/guillp/requests_oauth2client) {version} also verifies "
    "the library's DPoP proofs, for a token endpoint and a resource that require changing nonces: "
    "`Tests/Interop/OAuth2/dpop_server.py`."
)
print("\n" + wrapped(sentence) + "\n")
print("## Differences\n")
for number, note in enumerate(notes, 1):
    print(wrapped(f"{number}. {note}", indent=len(f"{number}. ")))

print("\n## HTTP message signatures\n")
sentence = (
    f"[{peer}](https://github.com/pyauth/http-message-signatures) {importlib.metadata.version(peer)} "
    "exchanges signed messages with the library over loopback connections, with a key of each "
    "algorithm: `Tests/Interop/signature_peer.py`. Requests have a body and `Content-Digest`, or "
    "neither, and the signatures of responses cover their requests. Through nginx, they use "
    "HTTP/2 with TLS (ours) and another path and host at the server. The tests also change the "
    "method, the query, a field, the body and its digest, the status or the request of a "
    "response: both sides reject each."
)
print(wrapped(sentence) + "\n")
print("| algorithm | " + " | ".join(exchanges) + " |")
print("|---|" + "---|" * len(exchanges))
for algorithm in algorithms:
    if missing := [exchange for exchange in exchanges if (algorithm, peer, exchange) not in signed]:
        raise SystemExit(f"error: {algorithm} has no result for {missing}")
    print(f"| {algorithm} | " + " | ".join("passed" for _ in exchanges) + " |")
