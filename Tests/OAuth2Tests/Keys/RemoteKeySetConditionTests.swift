import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Tests of conditional requests and of the validity that a response states.
///
/// The clock stands at Sun, 09 Sep 2001 01:46:40 GMT.
@Suite("RemoteKeySet: validity and conditions", .limitedConcurrency, .tags(.concurrency))
struct RemoteKeySetConditionTests {
    private let first: IssuerKey
    private let second: IssuerKey

    init() throws {
        first = try IssuerKey(id: "1")
        second = try IssuerKey(id: "2")
    }

    // MARK: Lifetime

    @Test(
        "Cache-Control, or else Expires, determines the lifetime of keys, within bounds",
        .shows("RFC 9111 §4.2, §5.2, §5.3"),
        arguments: [
            (["Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 600),
            (["Expires": "Sunday, 09-Sep-01 01:56:40 GMT"], 600), (["Expires": "Sun Sep  9 01:56:40 2001"], 600),
            // Compared with the server's clock, which may differ.
            (["Date": "Mon, 10 Sep 2001 00:00:00 GMT", "Expires": "Mon, 10 Sep 2001 00:15:00 GMT"], 900),
            (["Date": "Sun, 09 Sep 2001 01:00:00 GMT", "Expires": "Sun, 09 Sep 2001 01:10:00 GMT"], 600),
            (["Date": "yesterday", "Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 600),
            (["Expires": "Sun, 09 Sep 2001 01:56:40 GMT", "Age": "200"], 400),
            (["Expires": "Sun, 09 Sep 2001 01:46:45 GMT"], 60), (["Expires": "Sun, 09 Sep 2001 00:00:00 GMT"], 60),
            (["Expires": "Fri, 31 Dec 9999 23:59:59 GMT"], 3600),
            (["Cache-Control": "max-age=600"], 600),
            (["Cache-Control": "public, max-age=1200, must-revalidate"], 1200), (["Cache-Control": "max-age=5"], 60),
            (["Cache-Control": "max-age=31536000"], 3600), (["Cache-Control": "no-store"], 60),
            (["Cache-Control": "no-cache, max-age=600"], 60), (["Cache-Control": "private"], 300),
            (["Cache-Control": "MAX-AGE=\"600\""], 600), (["Cache-Control": "max-age=99999999999999999999"], 3600),
            (["Cache-Control": "max-age=-5"], 300), (["Cache-Control": "max-age"], 300),
            (["Cache-Control": "s-maxage=900"], 300), (["Cache-Control": "max-age=600, max-age=900"], 600),
            (["Cache-Control": "max-age=600", "Age": "400"], 200),
            // An invalid date counts as past.
            (["Expires": "0"], 60), (["Expires": "-1"], 60), (["Expires": ""], 60), (["Expires": "soon"], 60),
            (["Expires": "Sun, 32 Sep 2001 01:56:40 GMT"], 60), (["Expires": "Sun, 09 Sep 2001 01:56:40 CET"], 60),
            // A max-age takes precedence, even one that can't be parsed.
            (["Cache-Control": "max-age=120", "Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 120),
            (["Cache-Control": "max-age=120", "Expires": "0"], 120),
            (["Cache-Control": "max-age=soon", "Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 300),
            (["Cache-Control": "max-age", "Expires": "0"], 300),
            (["Cache-Control": "public", "Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 600),
            (["Cache-Control": "no-cache", "Expires": "Sun, 09 Sep 2001 01:56:40 GMT"], 60),
        ] as [(HTTPHeaders, Int)]
    )
    func lifetimes(headers: HTTPHeaders, seconds: Int) async throws {
        let issuer = PublishedKeys([first], headers: headers)
        let keys = issuer.keySet { $0.refreshAhead = .zero }
        _ = try await keys.keys()
        issuer.time.advance(by: .seconds(seconds) - .milliseconds(1))
        #expect(!keys.status.isStale)
        _ = try await keys.keys()
        #expect(issuer.fetchCount == 1)
        issuer.time.advance(by: .milliseconds(1))
        #expect(keys.status.isStale)
        _ = try await keys.keys()
        #expect(issuer.fetchCount == 2)
        #expect(!keys.status.isStale)
    }

    // MARK: Conditional requests

    @Test(
        "Sends usable validators back to the server",
        .shows("RFC 9110 §13, §8.8, §15.4.5"),
        arguments: [
            (["ETag": #""v1""#], ["If-None-Match": #""v1""#]), (["ETag": #"W/"v1""#], ["If-None-Match": #"W/"v1""#]),
            (
                ["Last-Modified": "Sun, 09 Sep 2001 00:00:00 GMT"],
                ["If-Modified-Since": "Sun, 09 Sep 2001 00:00:00 GMT"]
            ),
            (
                ["Last-Modified": "Sunday, 09-Sep-01 00:00:00 GMT", "ETag": #""""#],
                ["If-None-Match": #""""#, "If-Modified-Since": "Sun, 09 Sep 2001 00:00:00 GMT"]
            ),
            // Within a minute before the response, other keys may have been published.
            (["Last-Modified": "Sun, 09 Sep 2001 01:45:41 GMT"], [:]),
            (
                ["Last-Modified": "Sun, 09 Sep 2001 01:45:40 GMT"],
                ["If-Modified-Since": "Sun, 09 Sep 2001 01:45:40 GMT"]
            ),
            (["Last-Modified": "Sun, 09 Sep 2001 00:00:00 GMT", "Date": "Sun, 09 Sep 2001 00:00:30 GMT"], [:]),
            (["Last-Modified": "Mon, 10 Sep 2001 00:00:00 GMT"], [:]), (["Last-Modified": "yesterday"], [:]),
            (["Last-Modified": ""], [:]), (["ETag": "v1"], [:]), (["ETag": #"""#], [:]), (["ETag": #"w/"v1""#], [:]),
            (["ETag": #""v"1""#], [:]), (["ETag": "\"v 1\""], [:]),
            (["ETag": "\"\(String(repeating: "x", count: 1_023))\""], [:]),
            (["ETag": #""v1""#, "Cache-Control": "no-store"], [:]), ([:], [:]),
        ] as [(HTTPHeaders, HTTPHeaders)]
    )
    func conditions(headers: HTTPHeaders, conditions: HTTPHeaders) async throws {
        let issuer = PublishedKeys([first], headers: headers)
        let keys = issuer.keySet { $0.refreshAhead = .zero }
        for _ in 1...2 {
            _ = try await keys.keys()
            issuer.time.advance(by: .seconds(3_600))
        }
        #expect(issuer.fetchCount == 2)
        for (number, request) in issuer.transport.requests.enumerated() {
            for name in ["If-None-Match", "If-Modified-Since"] {
                #expect(request.headers[name] == (number == 0 ? nil : conditions[name]))
            }
        }
    }

    @Test(
        "A 304 renews the lifetime of the keys, by its own fields or those of the previous response",
        .shows("RFC 9110 §13, §8.8, §15.4.5")
    )
    func notModified() async throws {
        let issuer = PublishedKeys(
            [],
            steps: [
                .json(
                    IssuerKey.document([first]),
                    headers: ["ETag": #""a""#, "Cache-Control": "max-age=600", "Age": "300"]
                ),
                .status(304), .status(304, headers: ["Cache-Control": "max-age=120", "ETag": #""a""#]), .status(304),
                .json(IssuerKey.document([second]), headers: ["ETag": #""b""#]), .status(304),
            ]
        )
        let verifier = issuer.verifier { $0.refreshAhead = .zero }
        let token = try issuer.token(first)
        let set = try await verifier.keySet.keys()
        for lifetime in [300, 600, 120, 120] {
            #expect(try await verifier.verify(token).registered.subject == "ada")
            #expect(try await verifier.keySet.keys().keys == set.keys)
            let count = issuer.fetchCount
            issuer.time.advance(by: .seconds(lifetime) - .milliseconds(1))
            #expect(!verifier.keySet.status.isStale)
            _ = try await verifier.verify(token)
            #expect(issuer.fetchCount == count)
            issuer.time.advance(by: .milliseconds(1))
            #expect(verifier.keySet.status.isStale)
        }
        // The server has other keys.
        await #expect(throws: TokenError(.unknownKey, "")) { try await verifier.verify(token) }
        issuer.time.advance(by: .seconds(300))
        #expect(try await verifier.verify(try issuer.token(second)).registered.subject == "ada")
        #expect((verifier.keySet.status.loadCount, verifier.keySet.status.failure) == (6, nil))
        #expect(
            issuer.transport.requests.map { $0.headers["If-None-Match"] }
                == [nil, #""a""#, #""a""#, #""a""#, #""a""#, #""b""#]
        )
    }

    @Test(
        "A 304 to an unconditional request is a failure, and the last keys stay in use for the time allowed",
        .shows("RFC 9110 §13, §8.8, §15.4.5")
    )
    func unaskedNotModified() async throws {
        let issuer = PublishedKeys(
            [],
            steps: [.status(304), .json(IssuerKey.document([first])), .status(304), .status(304)]
        )
        let keys = issuer.keySet { $0.refreshAhead = .zero }
        let error = await failure { try await keys.keys() }
        #expect((error?.code, error?.status) == (.protocolViolation, 304))
        #expect(error?.message.contains("unconditional") == true)
        issuer.time.advance(by: .seconds(2))
        let set = try await keys.keys()
        issuer.time.advance(by: .seconds(300))
        #expect(try await keys.keys().keys == set.keys)
        #expect((keys.status.failure?.status, keys.status.loadCount) == (304, 1))
        issuer.time.advance(by: .seconds(3_600))
        await #expect(throws: OAuth2Error(.protocolViolation, "")) { try await keys.keys() }
    }

    @Test("A 304 makes keys valid again that were too old to be used")
    func revival() async throws {
        let issuer = PublishedKeys(
            [],
            steps: [
                .json(IssuerKey.document([first]), headers: ["ETag": #""a""#]), .status(503), .status(304),
            ]
        )
        let verifier = issuer.verifier { $0.refreshAhead = .zero }
        let token = try issuer.token(first)
        _ = try await verifier.verify(token)
        issuer.time.advance(by: .seconds(3_900))
        await #expect(throws: OAuth2Error(.serverTransient, "")) { try await verifier.verify(token) }
        issuer.time.advance(by: .seconds(2))
        #expect(try await verifier.verify(token).registered.subject == "ada")
        #expect(!verifier.keySet.status.isStale)
        // The validators of the last successful response are still in use after a failure.
        #expect(issuer.transport.requests.map { $0.headers["If-None-Match"] } == [nil, #""a""#, #""a""#])
    }

    @Test("A thousand tokens with unknown keys cause one 304 in each cooldown")
    func unknownKeys() async throws {
        let document = IssuerKey.document([first])
        let issuer = PublishedKeys(
            [],
            steps: [.json(document, headers: ["ETag": #""a""#]), .status(304), .status(304)]
        )
        let verifier = issuer.verifier()
        _ = try await verifier.verify(try issuer.token(first))
        for round in 1...2 {
            issuer.time.advance(by: .seconds(30))
            for number in 1...500 {
                let token = try issuer.token(first, keyID: "bogus-\(number)")
                await #expect(throws: TokenError(.unknownKey, "")) { try await verifier.verify(token) }
            }
            #expect(issuer.fetchCount == 1 + round)
        }
    }

    @Test("Doesn't send the validator of one URL to another")
    func movedAddress() async throws {
        let transport = MockTransport(
            .json(IssuerKey.document([first]), headers: ["ETag": #""a""#]),
            .json(IssuerKey.document([second]), headers: ["ETag": #""b""#])
        )
        let time = ManualTime()
        let keys = RemoteKeySet(
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            options: .init(refreshAhead: .zero, timeSource: time.timeSource)
        ) {
            try #require(URL(string: "https://id.example/jwks/\(transport.requests.count)"))
        }
        _ = try await keys.keys()
        time.advance(by: .seconds(300))
        #expect(try await keys.keys().keys == [second.jwk])
        #expect(transport.requests.map(\.url.lastPathComponent) == ["0", "1"])
        #expect(transport.requests.allSatisfy { $0.headers["If-None-Match"] == nil })
    }

    @Test("Transfers the keys over a real socket only when they have changed")
    func loopback() async throws {
        try await withLoopbackServer { server async throws in
            let documents = [#""1""#: IssuerKey.document([first]), #""2""#: IssuerKey.document([first, second])]
            let (time, current) = (ManualTime(), CurrentTag())
            server.on(.get, "/jwks") { request in
                let tag = current.text.withLock { $0 }
                if request.headers["If-None-Match"] == tag { return .status(304, headers: ["ETag": tag]) }
                return .json(documents[tag] ?? "", headers: ["ETag": tag])
            }
            let transport = try CurlTransport(configuration: .init(proxy: .none))
            let keys = RemoteKeySet(
                url: server.url(for: "/jwks"),
                client: NetworkClient(transport: transport),
                options: .init(refreshAhead: .zero, timeout: .seconds(120), timeSource: time.timeSource)
            )
            for count in [1, 1, 1, 2, 2] {
                if count == 2 { current.text.withLock { $0 = #""2""# } }
                #expect(try await keys.keys().keys.count == count)
                time.advance(by: .seconds(300))
            }
            #expect(server.requests(for: "/jwks").count == 5)
            #expect(keys.status.failure == nil)
            await transport.close()
        }
    }
}

/// The current entity tag of the server.
private final class CurrentTag: Sendable {
    let text = Mutex(#""1""#)
}
