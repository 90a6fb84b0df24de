"""Generates Docs/Interop.md from the tests' results: matrix.py FILE, to standard output.

Each line of FILE is a feature, a server, and the result: `passed`, `lacks`, or `differs` with the
description.
"""

import importlib.metadata
import sys
import textwrap

servers = {
    "glewlwyd": "Glewlwyd",
    "django": "django-oauth-toolkit",
    "authlib": "Authlib",
    "idpyoidc": "idpyoidc",
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


def wrapped(text, indent=0):
    """The text in lines of at most 100 columns."""
    return textwrap.fill(
        text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


found, notes = {}, []
with open(sys.argv[1], encoding="utf-8") as file:
    lines = sorted(set(file.read().splitlines()))
for feature, server, outcome, *reason in (line.split("\t") for line in lines):
    if (feature, server) in found:
        raise SystemExit(f"error: {feature} has two results for {server}")
    found[feature, server] = (outcome, *reason)
features = {feature for feature, _ in found}
if unknown := features - set(order):
    raise SystemExit(f"error: unknown features {sorted(unknown)}; add them to `order` in matrix.py")

print("# Interoperation with authorization servers\n")
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
