"""An MCP server of the Python SDK (`mcp`) that requires tokens, for the interop tests.

mcp_server.py json|events SCOPES [ISSUER]: listens on a free port of 127.0.0.1, and writes the URL of
the MCP endpoint. The responses are JSON or event streams. With ISSUER, PyJWT verifies the access
tokens of that authorization server. Without, the SDK's own authorization server issues opaque ones.
"""

import secrets
import socket
import sys
import time

import jwt
import uvicorn
from mcp.server.auth.provider import (
    AccessToken, AuthorizationCode, OAuthAuthorizationServerProvider, RefreshToken, TokenVerifier,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthToken

form, scopes = sys.argv[1], sys.argv[2].split()
issuer = sys.argv[3] if len(sys.argv) > 3 else None
listener = socket.create_server(("127.0.0.1", 0))
base = f"http://127.0.0.1:{listener.getsockname()[1]}"
resource = f"{base}/mcp"


class Verifier(TokenVerifier):
    """Verifies JWTs without their audience, which `validate_token_resource` compares."""

    def __init__(self):
        self.keys = jwt.PyJWKClient(f"{issuer}/jwks")

    async def verify_token(self, token):
        try:
            claims = jwt.decode(
                token, self.keys.get_signing_key_from_jwt(token), ["ES256"], issuer=issuer,
                options={"verify_aud": False, "require": ["exp", "aud", "sub", "client_id"]},
            )
        except jwt.PyJWTError:
            return None
        audience = claims["aud"]
        return AccessToken(
            token=token, client_id=claims["client_id"], scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"], resource=audience if isinstance(audience, str) else audience[0],
            subject=claims["sub"], claims=claims,
        )


class Provider(OAuthAuthorizationServerProvider):
    """The storage of the SDK's authorization server, whose only user is `ada`."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code, client_id=client.client_id, scopes=params.scopes or [], subject="ada",
            expires_at=time.time() + 60, **params.model_dump(exclude={"state", "scopes"}),
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state, iss=base)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.tokens(authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        return self.tokens(refresh_token, scopes)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def tokens(self, grant, granted):
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        shared = dict(client_id=grant.client_id, scopes=granted, resource=grant.resource, subject=grant.subject)
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + 300, **shared)
        self.refresh[refresh] = RefreshToken(token=refresh, **shared)
        return OAuthToken(access_token=access, expires_in=300, refresh_token=refresh, scope=" ".join(granted))


server = MCPServer(
    "tools",
    log_level="ERROR",
    token_verifier=Verifier() if issuer else None,
    auth_server_provider=None if issuer else Provider(),
    auth=AuthSettings(
        issuer_url=issuer or base, resource_server_url=resource, required_scopes=scopes, validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["tools.read", "tools.call"]),
    ),
)


@server.tool()
async def add(a: int, b: int, context: Context) -> int:
    """Adds two numbers, and reports progress before."""
    await context.report_progress(1, 2)
    return a + b


app = server.streamable_http_app(json_response=form == "json")
print(resource, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
