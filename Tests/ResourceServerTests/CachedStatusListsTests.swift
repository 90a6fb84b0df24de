import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@testable import ResourceServer

@Suite("CachedStatusLists", .limitedConcurrency, .tags(.concurrency))
struct CachedStatusListsTests {
    private let issuer: PublishedStatusList

    init() throws {
        issuer = try PublishedStatusList()
    }

    private func status(_ lists: CachedStatusLists, _ index: Int = 0) async throws -> TokenStatus {
        try await lists.status(of: PublishedStatusList.reference(index))
    }

    // MARK: Fetching

    @Test("Fetches a list once, for every status", .shows("Status List §8.1, §8.2, §11.4, §11.5, §13.7"))
    func statuses() async throws {
        let lists = issuer.lists()
        var statuses: [UInt8] = []
        for index in 0...4 { statuses.append(try await status(lists, index).rawValue) }
        #expect(statuses == [0, 1, 2, 3, 0])
        #expect(issuer.fetchCount == 1)
        #expect(lists.count == 1)
        let request = try #require(issuer.transport.requests.first)
        #expect(request.method == .get)
        #expect(request.url.absoluteString == PublishedStatusList.uri)
        #expect(request.headers["Accept"] == "application/statuslist+jwt")
    }

    @Test("Concurrent callers share one request", .shows("U15"))
    func singleFlight() async throws {
        let gate = ResponseGate()
        let text = try issuer.token()
        issuer.transport.append(.response(PublishedStatusList.response(text)).gated(by: gate))
        let lists = issuer.lists()
        try await withThrowingTaskGroup(of: TokenStatus.self) { group in
            for _ in 1...200 { group.addTask { try await status(lists, 1) } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            for try await status in group { #expect(status == .invalid) }
        }
        #expect(issuer.fetchCount == 1)
    }

    @Test("Verifies lists with the keys that the issuer publishes")
    func publishedKeys() async throws {
        var options = CachedStatusLists.Options()
        options.timeSource = issuer.time.timeSource
        let lists = CachedStatusLists(
            at: [PublishedStatusList.folder],
            issuer: PublishedKeys.issuer,
            keys: .remote(issuer.api.issuer.keySet()),
            outage: .reject,
            client: issuer.client,
            options: options
        )
        #expect(try await status(lists, 2) == .suspended)
        #expect(issuer.api.issuer.fetchCount == 1)
    }

    @Test("Keeps a bounded number of lists")
    func capacity() async throws {
        let other = "https://id.example/statuslists/2"
        let lists = issuer.lists { $0.capacity = 1 }
        for round in 1...2 {
            try issuer.publish(nil, ["sub": .string(other)])
            _ = try await lists.status(of: PublishedStatusList.reference(0, other))
            try issuer.publish()
            _ = try await status(lists)
            #expect(lists.count == 1)
            #expect(issuer.fetchCount == round * 2)
        }
    }

    // MARK: Lifetime

    @Test(
        "The lifetime is the stated one, within bounds and before the list expires",
        .shows("Status List §8.1, §8.2, §11.4, §11.5, §13.7"),
        arguments: [
            (120, 86_400, 120), (nil, 86_400, 300), (nil, nil, 300), (1, nil, 60), (86_400, nil, 3_600),
            (1_000_000, 100, 160), (0.5, 1_000, 60),
        ] as [(Double?, Int?, Int)]
    )
    func lifetime(ttl: Double?, expiration: Int?, seconds: Int) async throws {
        try issuer.publish(
            nil,
            [
                "ttl": ttl.flatMap(JSONNumber.init).map(JSONValue.number),
                "exp": expiration.map { .number(JSONNumber(issuer.api.now + $0)) },
            ]
        )
        let lists = issuer.lists()
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(seconds) - .milliseconds(1))
        _ = try await status(lists)
        #expect(issuer.fetchCount == 1)
        issuer.time.advance(by: .milliseconds(1))
        try issuer.publish()
        _ = try await status(lists)
        #expect(issuer.fetchCount == 2)
    }

    @Test("Notices a revocation when the list's lifetime ends", .shows("U12"))
    func replaced() async throws {
        let lists = issuer.lists()
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(299))
        var list = try PublishedStatusList.list()
        try list.set(.invalid, at: 0)
        try issuer.publish(list)
        #expect(try await status(lists) == .valid)
        issuer.time.advance(by: .seconds(1))
        #expect(try await status(lists) == .invalid)
    }

    @Test("A 304 renews the lifetime of a list, unless the issuer has changed its keys")
    func notModified() async throws {
        var options = CachedStatusLists.Options()
        options.timeSource = issuer.time.timeSource
        let lists = CachedStatusLists(
            at: [PublishedStatusList.folder],
            issuer: PublishedKeys.issuer,
            keys: .remote(issuer.api.issuer.keySet()),
            outage: .reject,
            client: issuer.client,
            options: options
        )
        var tagged = PublishedStatusList.response(try issuer.token())
        tagged.headers["ETag"] = #""a""#
        issuer.transport.append(.response(tagged), .status(304))
        for round in 1...3 {
            #expect(try await status(lists, 1) == .invalid)
            #expect(issuer.fetchCount == round)
            issuer.time.advance(by: .seconds(299))
            #expect(try await status(lists, 1) == .invalid)
            #expect(issuer.fetchCount == round)
            issuer.time.advance(by: .seconds(1))
            if round == 2 { issuer.api.issuer.publish([issuer.api.key, try IssuerKey(id: "2")]) }
        }
        #expect(issuer.transport.requests.map { $0.headers["If-None-Match"] } == [nil, #""a""#, nil])
    }

    @Test("Doesn't ask the server to confirm a list that has expired")
    func expiredCopy() async throws {
        let expiration = JSONValue.number(JSONNumber(issuer.api.now + 600))
        var tagged = PublishedStatusList.response(try issuer.token(nil, ["exp": expiration]))
        tagged.headers["ETag"] = #""a""#
        issuer.transport.append(.response(tagged))
        let lists = issuer.lists()
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(660))
        try issuer.publish()
        #expect(try await status(lists) == .valid)
        #expect(issuer.transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil])
    }

    @Test("An older list never replaces a newer one", .shows("U12"))
    func rollback() async throws {
        let old = try issuer.token()
        issuer.time.advance(by: .seconds(10))
        var list = try PublishedStatusList.list()
        try list.set(.invalid, at: 0)
        try issuer.publish(list)
        let lists = issuer.lists()
        #expect(try await status(lists) == .invalid)
        issuer.time.advance(by: .seconds(300))
        issuer.transport.append(.response(PublishedStatusList.response(old)))
        #expect(try await status(lists) == .invalid)
        #expect(issuer.fetchCount == 2)
        // A newer one does.
        issuer.time.advance(by: .seconds(300))
        try issuer.publish()
        #expect(try await status(lists) == .valid)
    }

    @Test("Fetches a list again that has no entry for a token, but not for each token", .shows("U15"))
    func enlarged() async throws {
        let lists = issuer.lists()
        await #expect(throws: TokenError(.statusRejected, "")) { try await status(lists, 16) }
        #expect(issuer.fetchCount == 1)
        var list = try PublishedStatusList.list(32)
        try list.set(.suspended, at: 16)
        try issuer.publish(list)
        issuer.time.advance(by: .seconds(10))
        #expect(try await status(lists, 16) == .suspended)
        #expect(issuer.fetchCount == 2)
        for _ in 1...10 {
            await #expect(throws: TokenError(.statusRejected, "")) { try await status(lists, 32) }
        }
        #expect(issuer.fetchCount == 2)
    }

    // MARK: Locations

    @Test(
        "Fetches from allowed locations",
        .shows("U11"),
        arguments: [
            ("https://id.example/statuslists/", "https://id.example/statuslists/1"),
            ("https://id.example/statuslists/", "https://ID.example:443/statuslists/a/b%20c"),
            ("https://id.example", "https://id.example/1"), ("https://id.example/1", "https://id.example/1"),
            ("https://id.example/list?id=1", "https://id.example/list?id=1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/1"),
        ]
    )
    func allowed(location: String, uri: String) async throws {
        try issuer.publish(nil, ["sub": .string(uri)])
        let lists = try issuer.lists(at: [#require(URL(string: location))])
        let found = try await lists.status(of: PublishedStatusList.reference(1, uri))
        #expect(found == .invalid)
        #expect(issuer.transport.requests.map(\.url.absoluteString) == [uri])
    }

    @Test(
        "Sends nothing to any other location",
        .shows("U11", "RFC 8725bis §3.10 (URLs)"),
        arguments: [
            "http://id.example/statuslists/1", "https://evil.example/statuslists/1", "https://id.example/1",
            "https://id.example/statuslists", "https://id.example:8443/statuslists/1",
            "https://user@id.example/statuslists/1", "https://user:pw@id.example/statuslists/1",
            "https://id.example/statuslists/1#x", "https://id.example/statuslists/1?user=ada",
            "https://id.example/statuslists/../admin", "https://id.example/statuslists/%2e%2E/admin",
            "https://id.example/statuslists/.%2e/admin", "https://id.example/statuslists/..%2fadmin",
            "https://id.example/statuslists/..%5cadmin", "https://id.example/statuslists/./1",
            "https://id.example/statuslists/..;/admin", "https://id.example/statuslists/%2e%2E%3Bx=1/admin",
            "https://id.example.evil.example/statuslists/1", "https://id.example@evil.example/statuslists/1",
            "file:///etc/passwd", "data:application/statuslist+jwt,x", "urn:list:1", "https:///statuslists/1",
            "https://169.254.169.254/statuslists/1", "gopher://id.example/statuslists/1",
        ]
    )
    func refused(uri: String) async throws {
        let lists = issuer.lists()
        let reference = try PublishedStatusList.reference(0, uri)
        await #expect(throws: TokenError(.statusRejected, "")) { try await lists.status(of: reference) }
        await #expect(throws: TokenError(.statusRejected, "")) { try await issuer.lists(at: []).status(of: reference) }
        #expect(issuer.fetchCount == 0)
    }

    @Test(
        "Follows redirects to the same origin, and to others only if the caller allows them",
        .shows("U11", "Status List §8.1, §8.2, §11.4, §11.5, §13.7")
    )
    func redirects() async throws {
        issuer.transport.append(.status(307, headers: ["Location": "/cdn/1"]))
        #expect(try await status(issuer.lists(), 1) == .invalid)
        #expect(issuer.transport.requests.last?.url.absoluteString == "https://id.example/cdn/1")
        let elsewhere: HTTPHeaders = ["Location": "https://cdn.example/1"]
        issuer.transport.append(.status(307, headers: elsewhere))
        let error = await #expect(throws: OAuth2Error.self) { try await status(issuer.lists()) }
        #expect((error?.code, error?.status) == (.protocolViolation, 307))
        #expect(issuer.fetchCount == 3)
        issuer.transport.append(.status(307, headers: elsewhere))
        _ = try await status(issuer.lists { $0.redirects = .follow })
        #expect(issuer.transport.requests.last?.url.absoluteString == "https://cdn.example/1")
    }
}
