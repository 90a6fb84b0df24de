"""Makes Docs/Interop.md of what the tests wrote down: matrix.py FILE, to standard output.

Each line of FILE is a feature, a server, and what came of it: `passed`, `lacks`, or `differs` with the reason.
"""

import importlib.metadata
import sys

servers = {
    "glewlwyd": "Glewlwyd",
    "django": "django-oauth-toolkit",
    "authlib": "Authlib",
    "idpyoidc": "idpyoidc",
}
order = [
    "Discovery by OpenID Connect", "Discovery by RFC 8414", "`none`", "`client_secret_basic`", "`client_secret_post`",
    "`client_secret_jwt`", "`private_key_jwt`", "`tls_client_auth`", "`self_signed_tls_client_auth`", "Endpoints for clients with certificates",
    "Client credentials", "Authorization code with PKCE", "Device authorization", "JWT bearer",
    "Refresh with rotation", "Reuse of a refresh token ends its successors", "Grace for a refresh token whose answer was lost",
    "Token exchange", "Access tokens as in RFC 9068", "Introspection", "Revocation",
    "Pushed authorization requests", "Signed authorization requests", "401 and 403 of a resource", "Metadata of a resource (RFC 9728)",
    "UserInfo", "UserInfo, signed", "Registration (RFC 7591)", "Registration management (RFC 7592)", "DPoP",
    "Tokens that are bound to certificates",
]
found, notes = {}, []
with open(sys.argv[1], encoding="utf-8") as file:
    lines = sorted(set(file.read().splitlines()))
for feature, server, outcome, *reason in (line.split("\t") for line in lines):
    if (feature, server) in found:
        raise SystemExit(f"error: {feature} has two outcomes with {server}")
    found[feature, server] = (outcome, *reason)
features = {feature for feature, _ in found}
if unknown := features - set(order):
    raise SystemExit(f"error: matrix.py does not know {sorted(unknown)}")

print("""# Interoperation with authorization servers

`bash Tests/Interop/run` starts authorization servers that this package did not write, runs `InteropTests` against them over
loopback connections, and makes this page. A cell says “passed” if the tests of the feature pass, “lacks it” if the server does not
have the feature, and “differs” with a number where the server does it another way than the standards say. Both are what the tests
expect: they ask for what is lacking, too, look at what the server says of itself, and search the source of a library for it.
""")
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
            raise SystemExit(f"error: {feature} was not tried with {servers[server]}")
        outcome, *reason = found[feature, server]
        if outcome == "differs":
            notes.append(f"{servers[server]}, {feature}: {reason[0]}.")
            outcome = f"differs ({len(notes)})"
        cells.append({"lacks": "lacks it"}.get(outcome, outcome))
    print(f"| {feature} | " + " | ".join(cells) + " |")
print(f"""
DPoP proofs are verified by [requests_oauth2client](https://github.com/guillp/requests_oauth2client)
{importlib.metadata.version("requests_oauth2client")} besides, for a token endpoint and a resource that want nonces and change them:
`Tests/Interop/OAuth2/dpop_server.py`.
""")
print("## What differs\n")
for number, note in enumerate(notes, 1):
    print(f"{number}. {note}")
