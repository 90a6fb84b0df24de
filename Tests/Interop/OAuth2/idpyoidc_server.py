"""An authorization server on idpyoidc and Flask, for the OAuth2 interop tests.

idpyoidc_server.py PORT FOLDER: listens on 127.0.0.1:PORT. FOLDER has oauth-key.pem, whose public part
is the clients' key. idpyoidc has endpoints as objects; this program passes them Flask's requests and
returns their responses.
"""

import logging
import os
import pathlib
import sys

from cryptojwt.key_jar import KeyJar
from flask import Flask, jsonify, make_response, redirect, request
from idpyoidc.server import Server
from idpyoidc.server.authn_event import create_authn_event
from idpyoidc.server.authz import AuthzHandling
from idpyoidc.server.client_authn import verify_client
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import ClientAuthenticationError, InvalidClient, UnAuthorizedClient, UnknownClient
from idpyoidc.server.user_authn.authn_context import INTERNETPROTOCOLPASSWORD
from idpyoidc.server.oauth2.add_on.pkce import post_token_parse
from idpyoidc.server.oidc.token import Token
from idpyoidc.server.oidc.userinfo import UserInfo as UserInfoEndpoint
from idpyoidc.server.user_info import UserInfo
from joserfc.jwk import ECKey

from library import mentions

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
issuer = f"http://127.0.0.1:{port}"
os.chdir(folder)
client_key = ECKey.import_key((folder / "oauth-key.pem").read_text(), {"kid": "client-1", "use": "sig", "alg": "ES256"})
secret = "s3cret-of-a-client-0123456789-abcdef"
methods = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"]
exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
access_token_type = "urn:ietf:params:oauth:token-type:access_token"
refresh_token_type = "urn:ietf:params:oauth:token-type:refresh_token"
without_helper = ["urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:device_code"]


class ProvedUserInfo(UserInfoEndpoint):
    """The UserInfo endpoint for tokens with a DPoP proof."""

    name = "proved_userinfo"
    endpoint_name = "proved_userinfo_endpoint"


class PublicToken(Token):
    """A token endpoint for clients without secrets."""

    name = "public_token"
    endpoint_name = "public_token_endpoint"


def endpoint(path, cls, **kwargs):
    return {"path": path, "class": f"idpyoidc.server.{cls}", "kwargs": kwargs}


jwt_token = {
    "class": "idpyoidc.server.token.jwt_token.JWTToken",
    "kwargs": {"lifetime": 3600, "aud": [f"{issuer}/api"], "add_claims_by_scope": True},
}
configuration = {
    "issuer": issuer,
    "httpc_params": {"verify": False, "timeout": 4},
    "keys": {"uri_path": "jwks", "key_defs": [{"type": "EC", "crv": "P-256", "use": ["sig"]}, {"type": "RSA", "use": ["sig"]}]},
    "endpoint": {
        "provider_info": endpoint(".well-known/openid-configuration", "oidc.provider_config.ProviderConfiguration",
                                  client_authn_method=None),
        "server_metadata": endpoint(".well-known/oauth-authorization-server", "oauth2.server_metadata.ServerMetadata",
                                    client_authn_method=None),
        "registration": endpoint("register", "oidc.registration.Registration", client_authn_method=None,
                                 client_secret_expiration_time=432000),
        "registration_api": endpoint("registration_api", "oidc.read_registration.RegistrationRead",
                                     client_authn_method=["bearer_header"]),
        "authorization": endpoint("authorize", "oidc.authorization.Authorization", client_authn_method=None),
        "pushed_authorization": endpoint("par", "oauth2.pushed_authorization.PushedAuthorization", client_authn_method=methods),
        "token": endpoint(
            "token", "oidc.token.Token", client_authn_method=methods, revoke_refresh_on_issue=True,
            grant_types_helpers={
                "authorization_code": {"class": "idpyoidc.server.oidc.token_helper.access_token.AccessTokenHelper"},
                "refresh_token": {"class": "idpyoidc.server.oidc.token_helper.refresh_token.RefreshTokenHelper"},
                "client_credentials": {"class": "idpyoidc.server.oauth2.token_helper.client_credentials.ClientCredentials"},
                exchange: {
                    "class": "idpyoidc.server.oauth2.token_helper.token_exchange.TokenExchangeHelper",
                    "kwargs": {
                        "subject_token_types_supported": [access_token_type, refresh_token_type],
                        "requested_token_types_supported": [access_token_type, refresh_token_type],
                        "default_requested_token_type": access_token_type,
                        "policy": {"": {
                            "function": "idpyoidc.server.oauth2.token_helper.token_exchange.validate_token_exchange_policy",
                            "kwargs": {"scope": ["openid", "profile", "offline_access"]},
                        }},
                    },
                },
            },
        ),
        "public_token": {"path": "public-token", "class": PublicToken, "kwargs": {
            "client_authn_method": ["public"],
            "grant_types_helpers": {
                "authorization_code": {"class": "idpyoidc.server.oidc.token_helper.access_token.AccessTokenHelper"},
            },
        }},
        "introspection": endpoint("introspect", "oauth2.introspection.Introspection", client_authn_method=methods),
        "token_revocation": endpoint("revoke", "oauth2.token_revocation.TokenRevocation", client_authn_method=methods),
        "userinfo": endpoint("userinfo", "oidc.userinfo.UserInfo", client_authn_method=["bearer_header"]),
        "proved_userinfo": {"path": "proved-userinfo", "class": ProvedUserInfo, "kwargs": {"client_authn_method": ["dpop"]}},
    },
    "authentication": {"anon": {
        "acr": INTERNETPROTOCOLPASSWORD,
        "class": "idpyoidc.server.user_authn.user.NoAuthn",
        "kwargs": {"user": "ada"},
    }},
    "userinfo": {"class": UserInfo, "kwargs": {"db": {"ada": {"name": "Ada Lovelace", "email": "ada@example.com"}}}},
    "client_authn": verify_client,
    "template_dir": "template",
    "authz": {"class": AuthzHandling, "kwargs": {"grant_config": {
        "usage_rules": {
            "authorization_code": {"supports_minting": ["access_token", "refresh_token", "id_token"], "max_usage": 1},
            "access_token": {"supports_minting": ["access_token"], "expires_in": 600},
            "refresh_token": {"supports_minting": ["access_token", "refresh_token", "id_token"], "expires_in": 43200},
        },
        "expires_in": 43200,
    }}},
    "token_handler_args": {
        "jwks_def": {"private_path": "idpyoidc-token-jwks.json", "read_only": False, "key_defs": [
            {"type": "oct", "bytes": "24", "use": ["enc"], "kid": "code"}]},
        "code": {"lifetime": 600, "kwargs": {"crypt_conf": {"kwargs": {"keys": {"key_defs": [
            {"type": "OCT", "use": ["enc"], "kid": "password"}, {"type": "OCT", "use": ["enc"], "kid": "salt"}]},
            "iterations": 1}}}},
        "token": jwt_token,
        "refresh": jwt_token,
        "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}},
    },
    "session_params": {"encrypter": {"kwargs": {"keys": {"key_defs": [
        {"type": "OCT", "use": ["enc"], "kid": "password"}, {"type": "OCT", "use": ["enc"], "kid": "salt"}]}, "iterations": 1}}},
    "add_ons": {
        "pkce": {"function": "idpyoidc.server.oauth2.add_on.pkce.add_support", "kwargs": {"essential": False}},
        "dpop": {
            "function": "idpyoidc.server.oauth2.add_on.dpop.add_support",
            "kwargs": {"dpop_signing_alg_values_supported": ["ES256"], "dpop_endpoints": ["proved_userinfo"]},
        },
    },
    "scopes_to_claims": {"openid": ["sub"], "profile": ["name"], "email": ["email"], "offline_access": [], "read": [], "write": []},
}
server = Server(OPConfiguration(conf=configuration, base_path=str(folder)), cwd=str(folder))
context = server.context
context.map_supported_to_preferred()
# The add-on handles only the default token endpoint.
server.get_endpoint("public_token").post_parse_request.append(post_token_parse)
scopes = list(configuration["scopes_to_claims"])


def add_client(name, method="client_secret_basic", **more):
    context.cdb[name] = {
        "client_id": name, "client_secret": secret, "client_salt": "salt", "token_endpoint_auth_method": method,
        "redirect_uris": [("https://client.example/callback", {})],
        "response_types_supported": ["code"], "allowed_scopes": scopes,
        "grant_types_supported": ["authorization_code", "refresh_token", exchange] + without_helper,
    } | more
    server.keyjar.add_symmetric(name, secret)
    server.keyjar.import_jwks({"keys": [client_key.as_dict(private=False)]}, name)


for method in methods:
    add_client(method, method)
add_client("none", "none")
add_client("service", grant_types_supported=["client_credentials"])
add_client("signed_userinfo", userinfo_signed_response_alg="ES256")

app = Flask(__name__)


def answer(name):
    found = server.get_endpoint(name)
    info = {"headers": {k.lower(): v for k, v in request.headers}, "method": request.method, "url": request.url}
    sent = request.args.to_dict() if request.method == "GET" else (request.get_json(silent=True) or request.form.to_dict())
    try:
        parsed = found.parse_request(sent, http_info=info)
    except (UnAuthorizedClient, ClientAuthenticationError, UnknownClient, InvalidClient):
        return jsonify(error="invalid_client"), 401
    if "error" in parsed:
        return jsonify(parsed.to_dict()), 401 if parsed["error"] in ("invalid_client", "invalid_token") else 400
    result = found.process_request(parsed, http_info=info)
    if "http_response" in result:
        return jsonify(result["http_response"])
    if "error" in result:
        return jsonify(result.to_dict()), 400
    if "redirect_location" in result:
        return redirect(result["redirect_location"])
    made = found.do_response(request=parsed, **result)
    if made.get("response_placement") == "url":
        return redirect(made["response"])
    response = make_response(made["response"], made.get("response_code", 200))
    for header in made["http_headers"]:
        response.headers[header[0]] = header[1]
    return response


@app.get("/.well-known/openid-configuration")
def provider_info():
    return answer("provider_config")


@app.get("/.well-known/oauth-authorization-server")
def server_metadata():
    return answer("server_metadata")


@app.get("/test/mentions")
def test_mentions():
    return jsonify(mentions=mentions("idpyoidc.server", request.args["text"]))


@app.get("/jwks")
def jwks():
    return jsonify(server.keyjar.export_jwks(""))


@app.get("/authorize")
def authorize():
    found = server.get_endpoint("authorization")
    parsed = found.parse_request(request.args.to_dict(), http_info={"headers": {}, "url": request.url})
    if "error" in parsed:
        return jsonify(parsed.to_dict()), 400
    session = context.session_manager.create_session(
        create_authn_event("ada"), parsed, "ada", client_id=parsed["client_id"], sub_type="public"
    )
    return redirect(found.do_response(**found.authz_part2(parsed, session))["response"])


for path, name in (("token", "token"), ("public-token", "public_token"), ("par", "pushed_authorization"),
                   ("introspect", "introspection"), ("revoke", "token_revocation"), ("register", "registration")):
    app.post(f"/{path}", endpoint=name)(lambda name=name: answer(name))
app.get("/userinfo", endpoint="userinfo")(lambda: answer("userinfo"))
app.get("/proved-userinfo", endpoint="proved_userinfo")(lambda: answer("proved_userinfo"))
app.get("/registration_api", endpoint="registration_api")(lambda: answer("registration_read"))


@app.post("/test/refresh-token")
def refresh_token():
    """Issues a refresh token with a code, as if a user had granted it."""
    client, scope = request.form["client_id"], request.form["scope"].split() + ["offline_access"]
    asked = {"client_id": client, "redirect_uri": "https://client.example/callback", "scope": scope, "response_type": "code",
             "state": "s", "prompt": "consent"}
    authorization = server.get_endpoint("authorization")
    parsed = authorization.parse_request(asked)
    session = context.session_manager.create_session(
        create_authn_event("ada"), parsed, "ada", client_id=client, sub_type="public"
    )
    code = authorization.authz_part2(parsed, session)["response_args"]["code"]
    token = server.get_endpoint("token")
    parsed = token.parse_request({
        "grant_type": "authorization_code", "client_id": client, "client_secret": secret, "code": code,
        "redirect_uri": asked["redirect_uri"], "state": "s",
    })
    return jsonify(dict(token.process_request(parsed, issue_refresh=True)["response_args"]))


logging.getLogger("werkzeug").setLevel(logging.ERROR)
app.run(host="127.0.0.1", port=port, threaded=False)
