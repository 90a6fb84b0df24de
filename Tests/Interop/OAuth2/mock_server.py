"""The OpenID provider oidc-provider-mock, for the OAuth2 interop tests.

mock_server.py PORT: listens on 127.0.0.1:PORT.

The provider is complete, so this only adds a user and clients with IDs that the tests know.
`/test/refresh-token` issues a refresh token as if the user had granted it.
"""

import datetime
import logging
import secrets
import sys

from flask import jsonify, request
from oidc_provider_mock import app as provider, User
from oidc_provider_mock._storage import AccessToken, Client, RefreshToken, storage

port = int(sys.argv[1])
secret = "s3cret:/+=&%7E-of-a-client-0123456789"
app = provider(
    require_client_registration=True,
    user_claims=[User(sub="ada", claims={"name": "Ada Lovelace", "email": "ada@example.com"})],
)

with app.test_request_context():
    app.preprocess_request()
    for method in ("client_secret_basic", "client_secret_post", "none"):
        storage.store_client(Client(
            id=method, secret=secret, redirect_uris=["https://client.example/callback"],
            allowed_scopes=("openid", "profile", "email", "read", "write"), token_endpoint_auth_method=method,
        ))


@app.post("/test/refresh-token")
def refresh_token():
    token = RefreshToken(
        token=secrets.token_hex(), access_token=secrets.token_hex(), client_id=request.form["client_id"], user_id="ada",
        scope=request.form["scope"], expires_at=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=5),
    )
    storage.store_refresh_token(token)
    return jsonify(refresh_token=token.token)


logging.disable(logging.ERROR)
app.run(host="127.0.0.1", port=port, debug=False)
