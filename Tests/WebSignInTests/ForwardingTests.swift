import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import WebSignIn

@Suite("Forwarding to APIs", .limitedConcurrency)
struct ForwardingTests {
    private static let script = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin"), ("Accept", "*/*")]

    /// Runs a test with a user and an API that wants a token for everything below `/v1`.
    private func run(
        _ respond: @escaping @Sendable (LoopbackRequest) -> LoopbackResponse = { _ in .json("[1043]") },
        _ test: (Shop, Browser, LoopbackServer, URL) async throws -> Void
    ) async throws {
        let api = try LoopbackServer.start()
        do {
            try await Shop(apis: [api.baseURL]).run { shop in
                api.fallback(shop.provider.protecting(scope: "orders.read") { respond($0) })
                let browser = Browser(shop)
                try await browser.signIn()
                try await test(shop, browser, api, api.url(for: "/v1"))
            }
        } catch {
            await api.stop()
            throw error
        }
        await api.stop()
    }

    private func forward(
        _ browser: Browser,
        _ target: String,
        _ headers: [(String, String)] = ForwardingTests.script,
        method: String = "GET",
        body: String = "",
        to api: URL,
        passing fields: [String] = []
    ) async throws -> HTTPResponse {
        try await browser.shop.signIn.forward(
            browser.request(method, target, headers, body: body),
            under: "/api",
            to: api,
            as: require(await browser.session()),
            passing: fields
        )
    }

    @Test("A script's request gets the user's token, and few of its fields", .shows("WF12"))
    func forwarding() async throws {
        try await run { _, browser, api, url in
            let headers =
                Self.script + [
                    ("Authorization", "Bearer evil"), ("DPoP", "evil"), ("X-Forwarded-For", "10.0.0.1"),
                    ("Forwarded", "for=10.0.0.1"), ("Host", "evil.example"), ("Connection", "X-Tenant"),
                    ("X-Tenant", "7"), ("Origin", Shop.origin), ("Referer", Shop.origin + "/orders"),
                    ("Content-Type", "application/json"), ("if-match", "\"3\""), ("X-User", "grace"),
                ]
            let response = try await forward(
                browser,
                "/api/orders/7%20a?page=2&q=%c3%a9|",
                headers,
                method: "PATCH",
                body: "{}",
                to: url,
                passing: ["x-tenant"]
            )
            #expect(try await response.stream.collect(upTo: 100) == Data("[1043]".utf8))
            let request = try require(api.requests.last)
            #expect(request.method == .patch && request.target == "/v1/orders/7%20a?page=2&q=%c3%a9%7C")
            #expect(request.body == Data("{}".utf8))
            let token = try require(request.headers["Authorization"])
            #expect(token.hasPrefix("Bearer ey"))
            #expect(request.headers["Host"] == "127.0.0.1:\(try require(api.baseURL.port))")
            let absent = ["Cookie", "DPoP", "X-Forwarded-For", "Forwarded", "Origin", "Referer", "X-User"]
            for name in absent { #expect(request.headers[name] == nil, "\(name)") }
            #expect(request.headers.values(for: "Authorization").count == 1)
            #expect(request.headers["If-Match"] == "\"3\"" && request.headers["X-Tenant"] == "7")
            #expect(request.headers["Content-Type"] == "application/json")
        }
    }

    @Test("Another site's page, a link and an address of the user can't call the API", .shows("WS27"))
    func crossSite() async throws {
        try await run { shop, browser, api, url in
            let foreign = [
                [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Accept", "text/html")],
                [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate")],
                [("Origin", "https://evil.example")], [("Origin", "null")], [],
            ]
            for headers in foreign {
                for method in ["GET", "HEAD", "POST", "DELETE"] {
                    let found = await #expect(throws: SignInError(.crossSite, "")) {
                        try await forward(browser, "/api/orders", headers, method: method, to: url)
                    }
                    let error = try require(found)
                    let request = browser.request(method, "/api/orders", headers)
                    #expect(shop.signIn.response(to: error, for: request)?.status == 403)
                }
            }
            #expect(api.requestCount == 0)
            for headers in [[("Origin", Shop.origin)], [("X-CSRF", "1")]] {
                #expect(try await forward(browser, "/api/orders", headers, to: url).status == 200)
            }
        }
    }

    @Test(
        "A path that a reader can take for one outside of the API's is refused",
        .shows("WS28"),
        arguments: [
            "/api/../admin", "/api/a/../../admin", "/api/..", "/api/.", "/api/%2e%2e/admin", "/api/.%2E/admin",
            "/api/%252e%252e/admin", "/api/%25252e./admin", "/api/..;x=1/admin", "/api/%2e%2e%3bx/admin",
            "/api/a%2f..%2f..%2fadmin", "/api/a%5c..%5cadmin", "/api/a\\..\\admin", "/api/a%252fb",
            "/api//evil.example",
            "/api/a//b", "/apix", "/api%2fx", "/api@evil.example/", "/api:80", "/api.evil.example", "/api/a%00b",
            "/api/a%0d%0ab", "/api/a b", "/api/%", "/api/%zz", "/api/a#b", "/api/é", "/other", "/", "",
            "/api/" + String(repeating: "a", count: 8_200),
        ]
    )
    func paths(target: String) async throws {
        try await run { shop, browser, api, url in
            let found = await #expect(throws: SignInError(.pathRefused, "")) {
                try await forward(browser, target, to: url)
            }
            let error = try require(found)
            let request = browser.request("GET", "/api", Self.script)
            #expect(shop.signIn.response(to: error, for: request)?.status == 404)
            #expect(api.requestCount == 0)
        }
    }

    @Test("Harmless paths are passed on as received", .shows("WF12"))
    func harmless() async throws {
        try await run { _, browser, api, url in
            let targets = [
                "/api": "/v1", "/api/": "/v1/", "/api/a/b/": "/v1/a/b/", "/api/...": "/v1/...", "/api/a..b": "/v1/a..b",
                "/api/100%25": "/v1/100%25", "/api/a;v=1": "/v1/a;v=1", "/api/a?b=../c": "/v1/a?b=../c",
                "/api/%E2%82%AC": "/v1/%E2%82%AC",
            ]
            for (target, expected) in targets {
                _ = try await forward(browser, target, to: url)
                #expect(api.requests.last?.target == expected)
            }
        }
    }

    @Test("The response keeps its status and body, and can't run as a page", .shows("WS29"))
    func response() async throws {
        try await run({ request in
            let headers: HTTPHeaders = [
                "Set-Cookie": "session=evil", "ETag": "\"4\"", "X-Total": "2",
                "Cache-Control": "public, max-age=600", "Content-Security-Policy": "default-src *",
                "Access-Control-Allow-Origin": "*", "Clear-Site-Data": "\"*\"", "Refresh": "0; url=/",
                "Location": request.path == "/v1/there" ? "https://evil.example/" : "/v1/orders/8?x=1",
                "WWW-Authenticate": "Basic realm=\"api\"",
            ]
            return .text("<script>", status: request.path == "/v1/teapot" ? 418 : 303, headers: headers)
        }) { _, browser, _, url in
            let response = try await forward(browser, "/api/teapot", to: url, passing: ["X-Total"])
            #expect(response.status == 418)
            #expect(try await response.stream.collect(upTo: 100) == Data("<script>".utf8))
            let expected = [
                "cache-control: no-store",
                "content-security-policy: default-src 'none'; sandbox; frame-ancestors 'none'",
                "content-type: text/plain; charset=utf-8", "etag: \"4\"", "location: /api/orders/8?x=1",
                "x-content-type-options: nosniff", "x-total: 2",
            ]
            #expect(response.headers.map { "\($0.name.lowercased()): \($0.value)" }.sorted() == expected)
            #expect(try await forward(browser, "/api/here", to: url).status == 303)
            #expect(try await forward(browser, "/api/there", to: url).headers["Location"] == nil)
        }
    }

    @Test("Methods that aren't listed are refused", .shows("WF12"))
    func methods() async throws {
        try await run { _, browser, api, url in
            for method in ["TRACE", "CONNECT", "OPTIONS", "PROPFIND", "get", "", "G T"] {
                await #expect(throws: SignInError(.methodNotAllowed, "")) {
                    try await forward(browser, "/api/orders", method: method, to: url)
                }
            }
            #expect(api.requestCount == 0)
        }
    }

    @Test("Ended tokens, an API that is down and a challenge of the API are told apart", .shows("WF12"))
    func failures() async throws {
        try await run({ _ in
            .status(401, headers: ["WWW-Authenticate": #"Bearer error="insufficient_user_authentication""#])
        }) { shop, browser, api, url in
            let request = browser.request("GET", "/api/orders", Self.script)
            let challenged = try await forward(browser, "/api/orders", to: url)
            #expect(challenged.status == 401)
            #expect(challenged.headers["WWW-Authenticate"]?.contains("insufficient_user_authentication") == true)
            shop.provider.revokeRefreshTokens()
            shop.provider.revokeAccessTokens()
            do {
                _ = try await forward(browser, "/api/orders", to: url)
                Issue.record("the request should fail")
            } catch {
                #expect(shop.signIn.response(to: error, for: request)?.error?.code == .signedOut)
            }
            try await browser.signIn()
            await api.stop()
            let found = await #expect(throws: SignInError(.apiUnavailable, "")) {
                try await forward(browser, "/api/orders", to: url)
            }
            let error = try require(found)
            #expect(shop.signIn.response(to: error, for: request)?.status == 502)
        }
    }
}
