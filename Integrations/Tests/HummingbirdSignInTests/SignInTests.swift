import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdSignIn
import HummingbirdTesting
import Logging
import MockNetworking
import Networking
import ObservedService
import Testing
import WebSignIn

@Suite("HummingbirdSignIn", .serialized)
struct SignInTests {
    private func run(_ test: (Shop) async throws -> Void) async throws {
        let shop = try Shop()
        do { try await test(shop) } catch {
            await shop.stop()
            throw error
        }
        await shop.stop()
    }

    @Test("A user signs in, calls an API, and signs out")
    func signingIn() async throws {
        try await run { shop in
            try await shop.application().test(.router) { client in
                let browser = Browser(shop)
                #expect(try await browser.send(client, "/").text == "Hello stranger")
                let redirect = try await browser.send(client, "/orders?page=2")
                #expect(redirect.status == .seeOther)
                #expect(redirect.headers[.location] == "/auth/id/start?return=%2Forders%3Fpage%3D2")
                let orders = try await browser.open(client, "/orders?page=2")
                #expect(orders.text == "two orders")
                #expect(orders.headers[.cacheControl] == "no-store")
                #expect(try await browser.send(client, "/").text == "Hello ada")
                #expect(browser.cookies.keys.sorted() == ["__Host-session"])
                #expect(try await browser.send(client, "/orders", method: .post).text == "ada")
                let user = try await browser.send(client, "/auth/user", mode: "cors")
                #expect(user.text.contains(#""sub":"ada""#))
                let leaving = try await browser.send(client, "/auth/sign-out", method: .post)
                let place = try #require(leaving.headers[.location])
                let back = try await shop.provider.visit(try #require(URL(string: place)))
                let home = try await browser.open(
                    client,
                    String(back.absoluteString.dropFirst(Shop.origin.count))
                )
                #expect(home.text == "Hello stranger")
                #expect(browser.cookies.isEmpty)
            }
        }
    }

    @Test("Scripts get 401, and other sites' forms 403, with the reason in the log")
    func refusals() async throws {
        let records = LogRecords()
        try await run { shop in
            try await shop.application(logger: records.logger).test(.router) { client in
                let browser = Browser(shop)
                let refused = try await browser.send(client, "/orders", mode: "cors")
                #expect(refused.status == .unauthorized)
                #expect(
                    try await browser.send(client, "/contact", method: .post, site: "cross-site").status
                        == .forbidden
                )
                #expect(try await browser.send(client, "/contact", method: .post).text == "thanks")
                #expect(
                    try await browser.send(client, "/auth/id/callback?code=x&state=y").status == .badRequest
                )
                let codes = records.all.compactMap { $0.metadata["error.type"].map { "\($0)" } }
                #expect(codes == ["signedOut", "crossSite", "attemptMissing"])
            }
        }
    }

    @Test("A route can require a stronger authentication")
    func stepUp() async throws {
        try await run { shop in
            try await shop.application().test(.router) { client in
                let browser = Browser(shop)
                try await browser.open(client, "/orders")
                let refused = try await browser.send(client, "/transfer", method: .post, mode: "cors")
                #expect(refused.status == .unauthorized)
                #expect(
                    refused.headers[.wwwAuthenticate]?.contains("insufficient_user_authentication") == true
                )
                let redirect = try await browser.send(client, "/transfer")
                let place = try #require(redirect.headers[.location])
                #expect(place.contains("acr_values=phr") && place.contains("max_age=300"))
                // The provider doesn't reach the level.
                let failed = try await browser.open(client, "/transfer")
                #expect(
                    failed.status == .forbidden && failed.text.contains("You are still signed in as before")
                )
                #expect(try await browser.send(client, "/").text == "Hello ada")
            }
        }
    }

    @Test("Hosts with one driver share sessions, refreshes and logouts")
    func hosts() async throws {
        try await run { shop in
            try await shop.application().test(.router) { first in
                try await shop.application().test(.router) { second in
                    let (browser, elsewhere) = (Browser(shop), Browser(shop))
                    try await browser.open(first, "/orders")
                    try await elsewhere.open(second, "/orders")
                    #expect(try await browser.send(second, "/orders").text == "two orders")
                    shop.provider.revokeAccessTokens()
                    let before = shop.provider.tokenRequestCount
                    try await withThrowingTaskGroup { group in
                        for index in 0..<50 {
                            group.addTask {
                                index.isMultiple(of: 2)
                                    ? try await browser.send(first, "/orders").text
                                    : try await browser.send(second, "/orders").text
                            }
                        }
                        for try await text in group { #expect(text == "two orders") }
                    }
                    #expect(shop.provider.tokenRequestCount == before + 1)
                    #expect(shop.provider.reuseDetectionCount == 0)
                    let token = try shop.provider.issueLogoutToken(clientID: "shop", subject: "ada")
                    let logout = try await second.execute(
                        uri: "/auth/id/back-channel-logout",
                        method: .post,
                        body: ByteBuffer(string: "logout_token=" + token)
                    )
                    #expect(logout.status == .ok)
                    #expect(try await browser.send(first, "/").text == "Hello stranger")
                    #expect(try await elsewhere.send(second, "/").text == "Hello stranger")
                }
            }
        }
    }

    @Test("If the user's tokens have ended, the user signs in again")
    func endedTokens() async throws {
        try await run { shop in
            try await shop.application().test(.router) { client in
                let browser = Browser(shop)
                try await browser.open(client, "/orders")
                shop.provider.revokeRefreshTokens()
                let redirect = try await browser.send(client, "/orders")
                #expect(redirect.headers[.location] == "/auth/id/start?return=%2Forders")
                #expect(try await browser.send(client, "/orders", mode: "cors").status == .unauthorized)
                #expect(try await browser.open(client, "/orders").text == "two orders")
            }
        }
    }

    @Test("Passes requests of scripts on to an API, with their bodies and the user's token")
    func forwarding() async throws {
        try await run { shop in
            try await shop.application().test(.live) { client in
                let browser = Browser(shop)
                let refused = try await browser.send(client, "/shop/api/orders", mode: "cors")
                #expect(refused.status == .unauthorized)
                try await browser.open(client, "/orders")
                func answer(
                    _ path: String,
                    _ method: HTTPRequest.Method = .get,
                    _ body: String? = nil
                ) async throws -> TestResponse {
                    try await browser.send(client, "/shop" + path, method: method, mode: "cors", body: body)
                }
                let found = try await answer("/api/orders/7?page=2")
                #expect(found.text == "GET /v1/orders/7?page=2 0")
                #expect(found.headers[.cacheControl] == "no-store")
                #expect(found.headers[.contentSecurityPolicy]?.contains("sandbox") == true)
                #expect(try await answer("/api/orders/", .post, "1234").text == "POST /v1/orders/ 4")
                let large = String(repeating: "x", count: 200_000)
                #expect(try await answer("/api/orders", .put, large).text == "PUT /v1/orders 200000")
                #expect(try await answer("/api/orders", .head).text.isEmpty)
                // A body in memory is sent again with a new token.
                shop.provider.revokeAccessTokens()
                #expect(try await answer("/api/orders", .patch, "1").text == "PATCH /v1/orders 1")
                #expect(try await answer("/api/%2e%2e/orders/mine").status == .notFound)
                #expect(try await answer("/api/a%2fb").status == .notFound)
                let foreign = try await browser.send(client, "/shop/api/orders", site: "cross-site")
                #expect(foreign.status == .forbidden)
                await shop.api.stop()
                #expect(try await answer("/api/orders").status == .badGateway)
            }
        }
    }

    @Test("Lists the user's sessions, and ends one of them")
    func sessions() async throws {
        try await run { shop in
            try await shop.application().test(.router) { client in
                let (browser, elsewhere) = (Browser(shop), Browser(shop))
                try await browser.open(client, "/orders")
                try await elsewhere.open(client, "/orders")
                let ids = try await browser.send(client, "/sessions").text.split(separator: " ")
                #expect(ids.count == 2)
                #expect(
                    try await browser.send(client, "/sessions/\(ids[0])/end", method: .post).text == "true"
                )
                #expect(try await elsewhere.send(client, "/").text == "Hello stranger")
                #expect(try await browser.send(client, "/sessions").text == ids[1])
                #expect(try await browser.send(client, "/sessions/x/end", method: .post).text == "false")
            }
        }
    }

    @Test("Ends all sessions of a user")
    func everywhere() async throws {
        try await run { shop in
            try await shop.application().test(.router) { client in
                let (browser, elsewhere) = (Browser(shop), Browser(shop))
                try await browser.open(client, "/orders")
                try await elsewhere.open(client, "/orders")
                #expect(try await browser.send(client, "/everywhere", method: .post).text == "signed out")
                #expect(try await elsewhere.send(client, "/").text == "Hello stranger")
            }
        }
    }

    @Test("Of concurrent writes of one version, one succeeds")
    func compareAndSwap() async throws {
        let store = PersistedSessions(MemoryPersistDriver())
        #expect(try await store.read("a") == nil)
        let version = try #require(
            try await store.write("1", for: "a", replacing: nil, lifetime: .seconds(60))
        )
        #expect(try await store.write("2", for: "a", replacing: nil, lifetime: .seconds(60)) == nil)
        let written = try await withThrowingTaskGroup { group in
            for index in 0..<20 {
                group.addTask {
                    try await store.write("\(index)", for: "a", replacing: version, lifetime: .seconds(60))
                }
            }
            return try await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(written.compactMap(\.self).count == 1)
        #expect(try await store.read("a")?.version == written.compactMap(\.self).first)
        #expect(try await store.write("3", for: "a", replacing: version, lifetime: .seconds(60)) == nil)
        try await store.remove("a")
        #expect(try await store.read("a") == nil)
        #expect(try await store.write("4", for: "a", replacing: version, lifetime: .seconds(60)) == nil)
        // The driver keeps expired values for some minutes.
        #expect(try await store.write("5", for: "a", replacing: nil, lifetime: .nanoseconds(1)) != nil)
        #expect(try await store.write("6", for: "a", replacing: nil, lifetime: .seconds(60)) != nil)
        #expect(try await store.read("a")?.value == "6")
    }

    /// A driver whose reads of a value last until the test continues.
    private struct SlowDriver: PersistDriver {
        let driver = MemoryPersistDriver()
        let reads = AsyncStream<Void>.makeStream()
        let permissions = AsyncStream<Void>.makeStream()
        let steps = AsyncStream<String>.makeStream()

        func create<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
            do { try await driver.create(key: key, value: value, expires: expires) } catch {
                steps.continuation.yield("waiting")
                throw error
            }
        }

        func set<Object: Codable & Sendable>(key: String, value: Object, expires: Duration?) async throws {
            try await driver.set(key: key, value: value, expires: expires)
        }

        func get<Object: Codable & Sendable>(key: String, as type: Object.Type) async throws -> Object? {
            let value = try await driver.get(key: key, as: type)
            reads.continuation.yield()
            for await _ in permissions.stream { break }
            return value
        }

        func remove(key: String) async throws {
            try await driver.remove(key: key)
            if key == "a" { steps.continuation.yield("removed") }
        }
    }

    @Test("A write that is pending at a sign-out doesn't bring the session back")
    func removal() async throws {
        let driver = SlowDriver()
        let store = PersistedSessions(driver)
        let version = try await store.write("1", for: "a", replacing: nil, lifetime: .seconds(60))
        async let written = store.write("2", for: "a", replacing: version, lifetime: .seconds(60))
        for await _ in driver.reads.stream { break }
        async let removal: Void = store.remove("a")
        for await _ in driver.steps.stream { break }
        driver.permissions.continuation.yield()
        _ = try await (written, removal)
        #expect(try await PersistedSessions(driver.driver).read("a") == nil)
    }
}
