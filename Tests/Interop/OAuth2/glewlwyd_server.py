"""Starts Glewlwyd, an authorization server in C, and configures it with its API, for the OAuth2 interop tests.

glewlwyd_server.py PORT FOLDER ROOT [certificates]: Glewlwyd is unpacked in ROOT (or installed, with
ROOT = /), listens on 127.0.0.1:PORT, and keeps its database in FOLDER, which has oauth-key.pem. Glewlwyd
ends with this process. The file FOLDER/glewlwyd-PORT-ready appears when it's ready.

With `certificates`, it terminates TLS itself with server.pem in FOLDER, and authenticates clients by
their certificates: those under clients.pem, and self-signed.pem.
"""

import atexit
import base64
import gzip
import http.client
import json
import os
import pathlib
import signal
import sqlite3
import ssl
import subprocess
import sys
import time

from joserfc.jwk import ECKey

port, folder, root = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
is_secure = sys.argv[4:] == ["certificates"]
base = f"https://localhost:{port}" if is_secure else f"http://127.0.0.1:{port}"
issuer = f"{base}/api/oidc"
secret = "s3cret-of-a-client-0123456789-abcdef"
client_key = ECKey.import_key((folder / "oauth-key.pem").read_text(), {"kid": "client-1", "use": "sig", "alg": "ES256"})


def documentation(name):
    for path in root.glob(f"usr/share/doc/glewlwyd/database/{name}*"):
        return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    raise SystemExit(f"{name} isn't in the package")


database = folder / f"glewlwyd-{port}.sqlite"
connection = sqlite3.connect(database)
connection.executescript(documentation("init.sqlite3.sql"))
connection.close()

modules = root / "usr/lib/glewlwyd"
config = folder / f"glewlwyd-{port}.conf"
security = f"""
use_secure_connection=true
secure_connection_key_file="{folder}/server-key.pem"
secure_connection_pem_file="{folder}/server.pem"
secure_connection_ca_file="{folder}/client-roots.pem"
"""
config.write_text(f"""
port={port}
bind_address="127.0.0.1"
external_url="{base}"
login_url="login.html"
api_prefix="api"
static_files_path="{root}/usr/share/glewlwyd/webapp/"
allow_origin="*"
log_mode="file"
log_level="WARNING"
log_file="{folder}/glewlwyd-{port}.log"
cookie_domain="127.0.0.1"
cookie_secure=0
session_expiration=86400
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="{modules}/user"
user_middleware_module_path="{modules}/user_middleware"
client_module_path="{modules}/client"
user_auth_scheme_module_path="{modules}/scheme"
plugin_module_path="{modules}/plugin"
hash_algorithm="SHA512"
database = {{ type = "sqlite3"; path = "{database}"; }};
{security if is_secure else ""}
""")
libraries = f"{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib/aarch64-linux-gnu"
environment = dict(os.environ, LD_LIBRARY_PATH=libraries) if str(root) != "/" else None
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
process = subprocess.Popen([root / "usr/bin/glewlwyd", f"--config-file={config}"], env=environment)


@atexit.register
def stop():
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


cookie = None


def call(method, path, body=None):
    """Calls the API as the administrator."""
    global cookie
    if is_secure:
        trust = ssl.create_default_context(cafile=folder / "authority.pem")
        connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=trust)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json"} | ({"Cookie": cookie} if cookie else {})
    connection.request(method, f"/api{path}", None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read().decode()
    if response.status >= 300:
        raise SystemExit(f"{method} {path}: {response.status} {text[:500]}")
    if response.getheader("Set-Cookie"):
        cookie = response.getheader("Set-Cookie").split(";")[0]
    return text


for _ in range(600):
    if process.poll() is not None:
        raise SystemExit("Glewlwyd didn't start")
    try:
        call("POST", "/auth/", {"username": "admin", "password": "password"})
        break
    except OSError:
        time.sleep(0.1)

for scope in ("read", "write"):
    call("POST", "/scope/", {"name": scope, "display_name": scope, "password_required": False})
call("POST", "/user/", {
    "username": "ada", "name": "Ada Lovelace", "email": "ada@example.com", "password": "engine-1843",
    "scope": ["openid", "read", "write"], "enabled": True,
})

key = subprocess.run(
    ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], check=True, capture_output=True, text=True,
).stdout
public = subprocess.run(["openssl", "pkey", "-pubout"], input=key, check=True, capture_output=True, text=True).stdout
by_certificate = {
    "client-cert-source": "TLS", "client-cert-use-endpoint-aliases": True, "client-cert-self-signed-allowed": True,
}
call("POST", "/mod/plugin/", {"module": "oidc", "name": "oidc", "display_name": "OpenID Connect", "enabled": True, "parameters": {
    "iss": issuer,
    "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key, "cert": public,
    "access-token-duration": 300, "refresh-token-duration": 86400, "code-duration": 60,
    "refresh-token-rolling": False, "refresh-token-one-use": "always", "auth-type-code-revoke-replayed": True,
    "allow-non-oidc": True,
    "auth-type-code-enabled": True, "auth-type-token-enabled": False, "auth-type-id-token-enabled": True,
    "auth-type-client-enabled": True, "auth-type-device-enabled": True, "auth-type-refresh-enabled": True,
    "auth-type-password-enabled": True,
    "device-authorization-expiration": 600, "device-authorization-interval": 5,
    "jwks-show": True, "subject-type": "public", "name-claim": "mandatory", "email-claim": "mandatory",
    "allowed-scope": ["openid", "read", "write"],
    "pkce-allowed": True, "pkce-method-plain-allowed": False,
    "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
    "register-client-allowed": True, "register-client-management-allowed": True,
    "register-client-auth-scope": [], "register-client-credentials-scope": ["read"],
    "register-client-token-one-use": False, "register-default-properties": {},
    "request-parameter-allow": True, "request-parameter-ietf-strict": True, "request-maximum-exp": 3600,
    "client-jwks-parameter": "jwks", "client-jwks_uri-parameter": "jwks_uri",
    "oauth-par-allowed": True, "oauth-par-duration": 60, "oauth-par-required": False,
    "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
    "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 10,
    "oauth-dpop-nonce-mandatory": True, "oauth-dpop-nonce-counter": 10,
    "oauth-as-iss-id": True,
    "resource-allowed": False, "oauth-rar-allowed": False,
} | (by_certificate if is_secure else {})})


def certificate(name):
    """Returns a certificate in the form of a JWK member."""
    return base64.b64encode(ssl.PEM_cert_to_DER_cert((folder / name).read_text())).decode()


def add_client(method, **more):
    call("POST", "/client/", {
        "client_id": method, "name": method, "confidential": True, "enabled": True,
        "password": secret, "client_secret": secret,
        "redirect_uri": ["https://client.example/callback"],
        "authorization_type": ["code", "refresh_token", "client_credentials", "password", "device_authorization"],
        "token_endpoint_auth_method": [method], "request_object_signing_alg": "ES256",
        "token_endpoint_signing_alg": "HS256" if method == "client_secret_jwt" else "ES256",
        "scope": ["read", "write"],
        "jwks": {"keys": [client_key.as_dict(private=False)]},
    } | more)


for method in ("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"):
    add_client(method)
add_client("none", confidential=False, authorization_type=["code", "refresh_token"])
if is_secure:
    add_client("tls_client_auth", tls_client_auth_san_dns="client.example")
    key = ECKey.import_key((folder / "self-signed.pem").read_text()).as_dict(private=False)
    add_client("self_signed_tls_client_auth", jwks={"keys": [key | {"kid": "1", "x5c": [certificate("self-signed.pem")]}]})
(folder / f"glewlwyd-{port}-ready").touch()
while process.poll() is None:
    time.sleep(0.2)
