"""An authorization server on Authlib and Flask, for the OAuth2 interop tests.

authlib_server.py PORT FOLDER: listens on 127.0.0.1:PORT. FOLDER has oauth-key.pem, whose public part
is the clients' key.

All of Authlib's server features are enabled. The parts that it leaves to applications, such as storage
and the user's consent, are minimal. `/test/refresh-token` issues a refresh token as if a user had
granted it.
"""

import logging
import pathlib
import secrets
import sys
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7592 import ClientConfigurationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oauth2.rfc9101 import JWTAuthenticationRequest
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core import UserInfo, UserInfoEndpoint
from flask import Flask, jsonify, request
from joserfc.jwk import ECKey, KeySet, OctKey

from library import mentions

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
issuer = f"http://127.0.0.1:{port}"
client_key = ECKey.import_key((folder / "oauth-key.pem").read_text())
server_key = ECKey.generate_key("P-256", {"kid": "authlib-1", "use": "sig", "alg": "ES256"}, private=True)
secret = "s3cret:/+=&%7E-of-a-client-0123456789"
device_grant = "urn:ietf:params:oauth:grant-type:device_code"
jwt_bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
app = Flask(__name__)
clients, tokens, codes, devices, used_assertions = {}, [], {}, {}, set()


class User:
    def __init__(self, name):
        self.name = name

    def get_user_id(self):
        return self.name


class Client(ClientMixin):
    def __init__(self, client_id, client_secret, metadata, info=None):
        self.client_id, self.client_secret = client_id, client_secret
        self.client_metadata, self.client_info = metadata, info or {"client_id": client_id}

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return self.client_metadata.get("redirect_uris", [None])[0]

    def get_allowed_scope(self, scope):
        allowed = self.client_metadata.get("scope", "").split()
        return " ".join(s for s in (scope or "").split() if s in allowed)

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri in self.client_metadata.get("redirect_uris", [])

    def check_client_secret(self, client_secret):
        return secrets.compare_digest(self.client_secret, client_secret)

    def check_endpoint_auth_method(self, method, endpoint):
        if method == "client_assertion_jwt":
            return self.client_metadata["token_endpoint_auth_method"] in ("private_key_jwt", "client_secret_jwt")
        return method == self.client_metadata.get("token_endpoint_auth_method", "client_secret_basic")

    def check_response_type(self, response_type):
        return response_type in self.client_metadata.get("response_types", ["code"])

    def check_grant_type(self, grant_type):
        return grant_type in self.client_metadata.get("grant_types", ["authorization_code"])


class Token(TokenMixin):
    def __init__(self, client, user, data):
        self.client, self.user, self.data = client, user, data
        self.scope, self.issued, self.is_dead = data.get("scope", ""), time.time(), False

    def check_client(self, client):
        return self.client.client_id == client.client_id

    def get_scope(self):
        return self.scope

    def get_expires_in(self):
        return self.data["expires_in"]

    def is_expired(self):
        return time.time() > self.issued + self.data["expires_in"]

    def is_revoked(self):
        return self.is_dead

    def get_user(self):
        return self.user

    def get_client(self):
        return self.client


def find(text, *kinds):
    found = [t for t in tokens if any(t.data.get(kind) == text for kind in kinds)]
    return found[0] if found else None


class Code(dict):
    def get_redirect_uri(self):
        return self["redirect_uri"]

    def get_scope(self):
        return self["scope"]

    @property
    def code_challenge(self):
        return self["code_challenge"]

    @property
    def code_challenge_method(self):
        return self["code_challenge_method"]


methods = ["client_secret_basic", "client_secret_post", "none", "client_assertion_jwt"]


class AuthorizationCodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = methods

    def save_authorization_code(self, code, request):
        data = request.payload.data
        codes[code] = Code(
            client_id=request.client.client_id,
            user=request.user,
            redirect_uri=request.payload.redirect_uri,
            scope=request.payload.scope,
            code_challenge=data.get("code_challenge"),
            code_challenge_method=data.get("code_challenge_method"),
        )

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found["client_id"] == client.client_id else None

    def delete_authorization_code(self, authorization_code):
        for code in [c for c, v in codes.items() if v is authorization_code]:
            del codes[code]

    def authenticate_user(self, authorization_code):
        return authorization_code["user"]


class RefreshTokenGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = methods
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        token = find(refresh_token, "refresh_token")
        return token if token and not token.is_dead else None

    def authenticate_user(self, refresh_token):
        return refresh_token.user

    def revoke_old_credential(self, refresh_token):
        refresh_token.is_dead = True


class ClientCredentialsGrant(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = methods


class ClientAssertion(JWTBearerClientAssertion):
    def get_audiences(self):
        return [issuer, f"{issuer}/token"]

    def validate_jti(self, claims, jti):
        is_new = (claims["sub"], jti) not in used_assertions
        used_assertions.add((claims["sub"], jti))
        return is_new

    def resolve_client_public_key(self, client):
        if client.client_metadata["token_endpoint_auth_method"] == "client_secret_jwt":
            return OctKey.import_key(client.client_secret)
        return client_key


class AssertionGrant(JWTBearerGrant):
    def resolve_issuer_client(self, issuer):
        return clients.get(issuer)

    def resolve_client_public_key(self, client):
        return client_key

    def authenticate_user(self, subject):
        return User(subject)

    def get_audiences(self):
        return [issuer, f"{issuer}/token"]

    def has_granted_permission(self, client, user):
        return True


class DeviceAuthorization(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = methods

    def get_verification_uri(self):
        return f"{issuer}/device"

    def save_device_credential(self, client_id, scope, data):
        devices[data["device_code"]] = dict(data, client_id=client_id, scope=scope, expires_at=time.time() + 300)


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = methods

    def query_device_credential(self, device_code):
        found = devices.get(device_code)
        return DeviceCredentialDict(found) if found else None

    def query_user_grant(self, user_code):
        found = next((d for d in devices.values() if d["user_code"] == user_code), {})
        return (User("ada"), found["allowed"]) if "allowed" in found else None

    def should_slow_down(self, credential):
        return devices[credential["device_code"]].pop("hurries", False)


class TokenGenerator(JWTBearerTokenGenerator):
    def get_jwks(self):
        return KeySet([server_key])

    def get_audiences(self, client, user, scope):
        return [f"{issuer}/api"]


class Introspection(IntrospectionEndpoint):
    CLIENT_AUTH_METHODS = methods

    def check_permission(self, token, client, request):
        return True

    def query_token(self, token_string, token_type_hint):
        return find(token_string, token_type_hint or "access_token", "access_token", "refresh_token")

    def introspect_token(self, token):
        return {
            "client_id": token.client.client_id,
            "token_type": token.data["token_type"],
            "scope": token.scope,
            "sub": token.user.name if token.user else token.client.client_id,
            "aud": [f"{issuer}/api"],
            "iss": issuer,
            "exp": int(token.issued + token.data["expires_in"]),
            "iat": int(token.issued),
        }


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = methods

    def query_token(self, token_string, token_type_hint):
        return find(token_string, "access_token", "refresh_token")

    def revoke_token(self, token, request):
        token.is_dead = True


class RegistrationToken:
    def __init__(self, text):
        self.text = text

    def check_client(self, client):
        return client.client_info.get("registration_access_token") == self.text


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request):
        return request.headers.get("Authorization") == "Bearer initial-access-token"

    def get_server_metadata(self):
        return metadata()

    def save_client(self, client_info, client_metadata, request):
        client = Client(client_info["client_id"], client_info["client_secret"], client_metadata, client_info)
        clients[client.client_id] = client
        return client

    def generate_client_registration_info(self, client, request):
        client.client_info |= {
            "registration_access_token": secrets.token_urlsafe(24),
            "registration_client_uri": f"{issuer}/register/{client.client_id}",
        }
        return client.client_info


class Configuration(ClientConfigurationEndpoint):
    def authenticate_token(self, request):
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        return RegistrationToken(text) if scheme == "Bearer" else None

    def authenticate_client(self, request):
        return clients.get(request.uri.rsplit("/", 1)[1])

    def revoke_access_token(self, request, token):
        pass

    def check_permission(self, client, request):
        return True

    def delete_client(self, client, request):
        del clients[client.client_id]

    def update_client(self, client, client_metadata, request):
        client.client_metadata = client_metadata
        return client

    def generate_client_registration_info(self, client, request):
        return {}

    def get_server_metadata(self):
        return metadata()


class SignedRequests(JWTAuthenticationRequest):
    def resolve_client_public_key(self, client):
        return client_key

    def get_server_metadata(self):
        return metadata()

    def get_client_require_signed_request_object(self, client):
        return client.client_metadata.get("require_signed_request_object", False)


class Issuer(IssuerParameter):
    def get_issuer(self):
        return issuer


class TokenValidator(BearerTokenValidator):
    def authenticate_token(self, token_string):
        return find(token_string, "access_token")


class Users(UserInfoEndpoint):
    def get_issuer(self):
        return issuer

    def generate_user_info(self, user, scope):
        return UserInfo(sub=user.name, name="Ada Lovelace", email="ada@example.com").filter(scope)

    def resolve_private_key(self):
        return server_key


def save_token(data, request):
    tokens.append(Token(request.client, request.user, data))


server = AuthorizationServer(app, clients.get, save_token)
generator = TokenGenerator(issuer, alg="ES256", refresh_token_generator=lambda *_, **__: secrets.token_urlsafe(32))
server.register_token_generator("default", generator)
server.register_client_auth_method("client_assertion_jwt", ClientAssertion())
server.register_grant(AuthorizationCodeGrant, [CodeChallenge(required=True)])
for grant in (RefreshTokenGrant, ClientCredentialsGrant, AssertionGrant, DeviceGrant):
    server.register_grant(grant)
protector = ResourceProtector()
protector.register_token_validator(TokenValidator())
for endpoint in (Introspection, Revocation, Registration, Configuration, DeviceAuthorization):
    server.register_endpoint(endpoint)
server.register_endpoint(Users(resource_protector=protector))
server.register_extension(SignedRequests())
server.register_extension(Issuer())

every_grant = ["authorization_code", "refresh_token", "client_credentials", jwt_bearer, device_grant]
for method in ("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none"):
    clients[method] = Client(method, secret, {
        "token_endpoint_auth_method": method,
        "grant_types": every_grant,
        "redirect_uris": ["http://127.0.0.1/callback", "https://client.example/callback"],
        "scope": "openid profile email read write",
    })
clients["signed_userinfo"] = Client("signed_userinfo", secret, dict(
    clients["client_secret_basic"].client_metadata, userinfo_signed_response_alg="ES256"
))
clients["signed_requests"] = Client("signed_requests", secret, dict(
    clients["client_secret_basic"].client_metadata, require_signed_request_object=True
))


@app.get("/.well-known/openid-configuration")
@app.get("/.well-known/oauth-authorization-server")
def metadata_document():
    return jsonify(metadata())


def metadata():
    paths = dict(authorization="authorize", token="token", introspection="introspect", revocation="revoke",
                 registration="register", device_authorization="device_authorization", userinfo="userinfo")
    return {f"{name}_endpoint": f"{issuer}/{path}" for name, path in paths.items()} | {
        "issuer": issuer,
        "jwks_uri": f"{issuer}/jwks",
        "scopes_supported": ["openid", "profile", "email", "read", "write"],
        "response_types_supported": ["code"],
        "grant_types_supported": every_grant,
        "token_endpoint_auth_methods_supported": list(clients)[:5],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


@app.get("/jwks")
def jwks():
    return jsonify(KeySet([server_key]).as_dict(private=False))


@app.get("/authorize")
def authorize():
    user = User("ada")
    return server.create_authorization_response(
        grant=server.get_consent_grant(end_user=user), grant_user=user
    )


app.post("/token", endpoint="token")(lambda: server.create_token_response())
for name, path in (("introspection", "introspect"), ("revocation", "revoke"), ("client_registration", "register"),
                   ("device_authorization", "device_authorization")):
    app.post(f"/{path}", endpoint=name)(lambda name=name: server.create_endpoint_response(name))
app.get("/userinfo", endpoint="userinfo")(lambda: server.create_endpoint_response("userinfo"))


@app.route("/register/<client>", methods=["GET", "PUT", "DELETE"])
def configure(client):
    return server.create_endpoint_response("client_configuration")


@app.get("/api")
@protector("read")
def api():
    return jsonify(subject=current_token.user.name if current_token.user else current_token.client.client_id)


@app.post("/test/refresh-token")
def test_refresh_token():
    client, scope = clients[request.form["client_id"]], request.form["scope"]
    data = generator(grant_type="authorization_code", client=client, user=User("ada"), scope=scope)
    tokens.append(Token(client, User("ada"), data))
    return jsonify(refresh_token=data["refresh_token"])


@app.get("/test/mentions")
def test_mentions():
    return jsonify(mentions=mentions("authlib", request.args["text"]))


@app.post("/test/expire")
def test_expire():
    find(request.form["token"], "access_token").issued = 0
    return jsonify({})


@app.post("/test/device")
def test_device():
    device = next(d for d in devices.values() if d["user_code"] == request.form["user_code"])
    if "allowed" in request.form:
        device["allowed"] = request.form["allowed"] == "yes"
    device["hurries"] = "hurries" in request.form
    return jsonify({})


logging.getLogger("werkzeug").setLevel(logging.ERROR)
app.run(host="127.0.0.1", port=port, threaded=True)
