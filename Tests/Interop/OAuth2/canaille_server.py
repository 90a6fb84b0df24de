"""The identity provider Canaille, for the OAuth2 interop tests.

canaille_server.py PORT FOLDER: listens on 127.0.0.1:PORT. FOLDER has oauth-key.pem, whose public part
is the clients' key.

Canaille is complete, so this only configures it and adds a user and clients. The user signs in with
its login form. `/test/refresh-token` issues a refresh token as if a user had granted it: `ada` for the
scope `profile`, or else a new user. A user's access tokens of the same second are equal, so a test
with the same user would revoke those of another.
"""

import datetime
import json
import logging
import pathlib
import secrets
import sys

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from flask import jsonify, request
from joserfc.jwk import ECKey

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
secret = "s3cret:/+=&%7E-of-a-client-0123456789"
client_key = ECKey.import_key((folder / "oauth-key.pem").read_text()).as_dict(private=False)

app = create_app({
    "SECRET_KEY": secrets.token_hex(),
    "SERVER_NAME": f"127.0.0.1:{port}",
    "PREFERRED_URL_SCHEME": "http",
    "WTF_CSRF_ENABLED": False,  # the tests don't read the login form
    "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False, "SMTP": None, "LOGGING": None},
    "CANAILLE_OIDC": {"DYNAMIC_CLIENT_REGISTRATION_OPEN": True, "REQUIRE_NONCE": False},
})


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def add_client(name, method, **more):
    client = models.Client(**{
        "client_id": name, "client_name": name, "client_secret": secret, "client_id_issued_at": now(),
        "client_uri": "http://127.0.0.1", "redirect_uris": ["https://client.example/callback"],
        "token_endpoint_auth_method": method, "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": ["openid", "profile", "email", "read", "write"], "jwks": json.dumps({"keys": [client_key]}),
    } | more)
    Backend.instance.save(client)
    client.audience = [client]
    Backend.instance.save(client)


def add_user(name):
    user = models.User(
        user_name=name, formatted_name="Ada Lovelace", family_name="Lovelace", emails=[f"{name}@example.com"],
        password="engine-1843",
    )
    Backend.instance.save(user)
    return user


with app.app_context():
    add_user("ada")
    for method in ("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none"):
        add_client(method, method)
    add_client("signed_userinfo", "client_secret_basic", userinfo_signed_response_alg="RS256")
    add_client("signed_requests", "client_secret_basic", require_signed_request_object=True)


@app.post("/test/refresh-token")
def refresh_token():
    client = Backend.instance.get(models.Client, client_id=request.form["client_id"])
    scope = request.form["scope"].split()
    if "profile" in scope:
        user = Backend.instance.get(models.User, user_name="ada")
    else:
        user = add_user(secrets.token_hex())
    token = models.Token(
        token_id=secrets.token_hex(), type="Bearer", access_token=secrets.token_hex(), refresh_token=secrets.token_hex(),
        client=client, subject=user, scope=scope,
        issue_date=now(), lifetime=300, audience=[client],
    )
    Backend.instance.save(token)
    return jsonify(refresh_token=token.refresh_token)


@app.post("/test/expire")
def expire():
    token = Backend.instance.get(models.Token, access_token=request.form["token"])
    token.issue_date = now() - datetime.timedelta(hours=2)
    Backend.instance.save(token)
    return jsonify({})


logging.getLogger("werkzeug").setLevel(logging.ERROR)
app.run(host="127.0.0.1", port=port, threaded=False)
