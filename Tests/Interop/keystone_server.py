"""OpenStack's Keystone as an issuer of OAuth 2 tokens, for KeystoneTests.

keystone_server.py WORK PORT: serves with TLS on 127.0.0.1:PORT, with server.pem and clients.pem of the
folder WORK, and keeps its database and keys in WORK/keystone. WORK/keystone-ready appears when it's
ready; it has the identifiers of the clients.

Tokens are JWTs. The user `client` has the project that its tokens are for, and authenticates with a
certificate of that name under clients.pem. The application credential is a client with a secret.
"""

import base64
import hashlib
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import sys
import threading
import urllib.request
import wsgiref.simple_server

work, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
base = f"https://localhost:{port}"
folder = work / "keystone"
secret = "s3cret:/+=& %7E of a client 0123456789"
for name in ("public", "private", "fernet-keys"):
    (folder / name).mkdir(mode=0o700, parents=True)
config = folder / "keystone.conf"
config.write_text(f"""
[DEFAULT]
public_endpoint = {base}
default_logging_level = WARNING
[database]
connection = sqlite:///{folder}/keystone.sqlite
[token]
provider = jws
[jwt_tokens]
jws_public_key_repository = {folder}/public
jws_private_key_repository = {folder}/private
[fernet_tokens]
key_repository = {folder}/fernet-keys
[fernet_receipts]
key_repository = {folder}/fernet-keys
[oauth2]
oauth2_authn_methods = tls_client_auth,client_secret_basic
oauth2_cert_dn_mapping_id = certificates
""")


def manage(*arguments):
    program = pathlib.Path(sys.executable).parent / "keystone-manage"
    subprocess.run([program, "--config-file", config, *arguments], check=True)


key = folder / "private/private.pem"
subprocess.run(
    ["openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key], check=True
)
subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", folder / "public/public.pem"], check=True)
# Keystone also encrypts receipts of incomplete sign-ins, which the tests don't have.
for number in "01":
    (folder / "fernet-keys" / number).write_bytes(base64.urlsafe_b64encode(secrets.token_bytes(32)))
manage("db_sync")
manage("bootstrap", "--bootstrap-password", "admin-password", "--bootstrap-public-url", f"{base}/v3")

# --- The server, which terminates TLS as Apache does in front of Keystone -----------------------
os.environ["OS_KEYSTONE_CONFIG_FILES"] = str(config)
del sys.argv[1:]
from keystone.server import wsgi  # noqa: E402: reads the variable and the arguments


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def get_environ(self):
        environ = super().get_environ() | {"wsgi.url_scheme": "https", "HTTPS": "on"}
        if certificate := self.connection.getpeercert(True):
            environ["SSL_CLIENT_CERT"] = ssl.DER_cert_to_PEM_cert(certificate)
        return environ


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(work / "server.pem", work / "server-key.pem")
context.load_verify_locations(work / "clients.pem")
context.verify_mode = ssl.CERT_OPTIONAL
server = wsgiref.simple_server.make_server(
    "127.0.0.1", port, wsgi.initialize_public_application(), handler_class=Handler
)
server.socket = context.wrap_socket(server.socket, server_side=True)
thread = threading.Thread(target=server.serve_forever)
thread.start()

# --- Users and clients -------------------------------------------------------------------------
roots = ssl.create_default_context(cafile=work / "authority.pem")


def call(method, path, body=None, token=None):
    request = urllib.request.Request(f"{base}/v3/{path}", json.dumps(body).encode() if body else None, method=method)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("X-Auth-Token", token)
    with urllib.request.urlopen(request, context=roots) as response:
        return response.headers, json.loads(response.read() or b"{}")


def sign_in(user, password, scope):
    identity = {"methods": ["password"], "password": {"user": user | {"password": password}}}
    return call("POST", "auth/tokens", {"auth": {"identity": identity, "scope": scope}})[0]["X-Subject-Token"]


domain = {"domain": {"id": "default"}}
admin = sign_in({"name": "admin"} | domain, "admin-password", {"system": {"all": True}})
project = call("POST", "projects", {"project": {"name": "reports", "domain_id": "default"}}, admin)[1]["project"]["id"]
role = call("GET", "roles?name=member", token=admin)[1]["roles"][0]["id"]
user = call(
    "POST", "users",
    {"user": {"name": "client", "domain_id": "default", "password": "engine-1843", "default_project_id": project}},
    admin,
)[1]["user"]["id"]
call("PUT", f"projects/{project}/users/{user}/roles/{role}", token=admin)
mapping = {"rules": [{
    "local": [{"user": {"name": "{0}"}}],
    "remote": [
        {"type": "SSL_CLIENT_SUBJECT_DN_CN"},
        {"type": "SSL_CLIENT_ISSUER_DN_CN", "any_one_of": ["Interop clients"]},
    ],
}]}
call("PUT", "OS-FEDERATION/mappings/certificates", {"mapping": mapping}, admin)
own = sign_in({"id": user}, "engine-1843", {"project": {"id": project}})
credential = call(
    "POST", f"users/{user}/application_credentials",
    {"application_credential": {"name": "reports", "secret": secret}}, own,
)[1]["application_credential"]["id"]
certificate = ssl.PEM_cert_to_DER_cert((work / "client.pem").read_text())


def thumbprint(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()


ready = work / "keystone-part"
ready.write_text(json.dumps({
    "base": base, "user": user, "project": project, "credential": credential, "secret": secret, "admin": admin,
    "key": (folder / "public/public.pem").read_text(), "thumbprint": thumbprint(certificate),
    "textThumbprint": thumbprint(ssl.DER_cert_to_PEM_cert(certificate).encode()),
}))
ready.rename(work / "keystone-ready")
thread.join()
