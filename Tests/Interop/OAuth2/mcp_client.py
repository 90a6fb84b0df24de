"""An MCP client of the Python SDK (`mcp`) that signs in, for the interop tests.

mcp_client.py URL legacy|auto CLIENT TOOL...: connects to the MCP server at URL, by `initialize` or by
discovery first, and calls the tools. CLIENT is the ID of a registered client, or empty to register
one. The browser is a request that follows no redirect. Writes a line of JSON: the protocol's version,
the tools' results, the number of sign-ins and the granted scope. If the connection fails, exits with
1 and writes the error to standard error.
"""

import asyncio
import json
import logging
import sys
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

url, mode, known, *tools = sys.argv[1:]
redirect_uri = "http://127.0.0.1:4711/callback"
logging.disable()


class Storage:
    tokens = None
    client_info = OAuthClientInformationFull(
        client_id=known, token_endpoint_auth_method="none", redirect_uris=[redirect_uri]
    ) if known else None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


class Browser:
    """Follows no redirect, because nothing listens at the client's redirect URI."""

    redirects = []

    async def visit(self, address):
        async with httpx2.AsyncClient() as client:
            response = await client.get(address)
        self.redirects.append(dict(parse_qsl(urlsplit(response.headers["Location"]).query)))

    async def redirect(self):
        return AuthorizationCodeResult(**self.redirects[-1])


def causes(error):
    for inner in getattr(error, "exceptions", ()):
        yield from causes(inner)
    yield f"{type(error).__name__}: {error}"


async def main():
    storage, browser = Storage(), Browser()
    provider = OAuthClientProvider(
        url, OAuthClientMetadata(redirect_uris=[redirect_uri], client_name="Assistant",
                                 token_endpoint_auth_method="none"),
        storage, browser.visit, browser.redirect,
    )
    async with create_mcp_http_client(auth=provider) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=20) as client:
            results = [(await client.call_tool(tool, {"a": 19, "b": 23})).content[0].text for tool in tools]
            version = client.protocol_version
    print(json.dumps({
        "version": version, "results": results, "sign_ins": len(browser.redirects), "scope": storage.tokens.scope,
    }))


try:
    asyncio.run(main())
except BaseException as error:
    sys.exit("\n".join(causes(error)))
