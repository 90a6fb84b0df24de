import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@testable import ResourceServer

@Suite("CachedStatusLists: failures", .limitedConcurrency, .tags(.concurrency))
struct StatusListFailureTests {
    private let issuer: PublishedStatusList

    init() throws {
        issuer = try PublishedStatusList()
    }

    private func status(_ lists: CachedStatusLists, _ index: Int = 0) async throws -> TokenStatus {
        try await lists.status(of: PublishedStatusList.reference(index))
    }

    /// Returns the code of the reason for which a list is rejected.
    private func refusal(
        _ text: String,
        _ change: (inout CachedStatusLists.Options) -> Void = { _ in }
    ) async -> TokenError.Code? {
        issuer.transport.append(.response(PublishedStatusList.response(text)))
        let lists = issuer.lists(change)
        let error = await #expect(throws: OAuth2Error.self) { try await status(lists) }
        #expect(error?.code == .protocolViolation)
        #expect(lists.count == 0)
        return (error?.cause as? TokenError)?.code
    }

    // MARK: Lists

    @Test(
        "Rejects a list with wrong claims",
        .shows("U14"),
        arguments: [
            ("sub", "https://id.example/statuslists/2", .subjectMismatch), ("sub", nil, .missingClaim),
            ("iss", "https://evil.example", .issuerMismatch), ("aud", "somebody", .audienceMismatch),
            ("exp", 999_999_940, .expired), ("iat", 1_000_000_061, .issuedInFuture), ("iat", nil, .missingClaim),
            ("ttl", 0, .malformedClaim), ("status_list", nil, .missingClaim),
            ("status_list", ["bits": 3, "lst": "eNrbuRgAAhcBXQ"], .malformedClaim),
            ("status_list", ["bits": 1, "lst": "eNrbuRgAAhcBXQAA"], .malformedClaim),
            ("status_list", ["bits": 1, "lst": "eNrbuRgAAhcB"], .malformedClaim),
        ] as [(String, JSONValue?, TokenError.Code)]
    )
    func claims(name: String, value: JSONValue?, expected: TokenError.Code) async throws {
        let text = try issuer.token(nil, [name: value])
        #expect(await refusal(text) == expected)
    }

    @Test("Rejects other tokens of the issuer, and lists of others", .shows("U14"))
    func tokens() async throws {
        #expect(try await refusal(issuer.token(type: "at+jwt")) == .typeMismatch)
        #expect(try await refusal(issuer.token(type: "JWT")) == .typeMismatch)
        #expect(try await refusal(issuer.token(key: IssuerKey(id: "1"))) == .signatureInvalid)
        #expect(try await refusal(issuer.token(key: IssuerKey(id: "2"))) == .unknownKey)
        #expect(await refusal("<!doctype html><title>Sign in</title>") == .malformedToken)
        #expect(await refusal("") == .malformedToken)
    }

    @Test("Bounds the response and the decompressed list", .shows("U14"))
    func sizes() async throws {
        let bomb = try issuer.token(StatusList(count: 5 << 23))
        #expect(await refusal(bomb) == .tooLarge)
        issuer.transport.append(.response(PublishedStatusList.response(bomb)))
        #expect(try await status(issuer.lists { $0.maximumListSize = 5 << 20 }) == .valid)
        issuer.transport.append(.response(PublishedStatusList.response(String(repeating: "x", count: 1_048_577))))
        let error = await #expect(throws: OAuth2Error.self) { try await status(issuer.lists()) }
        #expect((error?.code, (error?.cause as? NetworkError)?.code) == (.protocolViolation, .bodyTooLarge))
    }

    @Test(
        "Accepts only status code 200 with the right media type",
        .shows("U14", "Status List §8.1, §8.2, §11.4, §11.5, §13.7")
    )
    func responses() async throws {
        let text = try issuer.token()
        let responses = [
            PublishedStatusList.response(text, status: 203), PublishedStatusList.response(text, status: 404),
            PublishedStatusList.response(text, type: "text/html"),
            PublishedStatusList.response(text, type: "application/statuslist+cwt"),
            PublishedStatusList.response(text, type: ""),
        ]
        for response in responses {
            issuer.transport.append(.response(response))
            let error = await #expect(throws: OAuth2Error.self) { try await status(issuer.lists()) }
            #expect(error?.code == .protocolViolation)
            #expect(error?.status == response.status)
        }
        let type = "Application/StatusList+JWT; charset=utf-8"
        issuer.transport.append(.response(PublishedStatusList.response(text, type: type)))
        #expect(try await status(issuer.lists()) == .valid)
    }

    // MARK: Outages

    @Test("In an outage, rejects tokens from the end of the list's lifetime", .shows("U13"))
    func reject() async throws {
        let lists = issuer.lists(outage: .reject)
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(299))
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(1))
        issuer.transport.append(.status(503))
        await #expect(throws: OAuth2Error(.serverTransient, "")) { try await status(lists) }
        #expect(issuer.fetchCount == 2)
        // Asks again after a pause.
        issuer.time.advance(by: .seconds(9))
        await #expect(throws: OAuth2Error(.serverTransient, "")) { try await status(lists) }
        #expect(issuer.fetchCount == 2)
        issuer.time.advance(by: .seconds(1))
        #expect(try await status(lists) == .valid)
        #expect(issuer.fetchCount == 3)
    }

    @Test("Waits as long as the server asks, up to five minutes", .shows("U15"))
    func retryAfter() async throws {
        for (asked, seconds) in [("60", 60), ("3600", 300)] {
            let issuer = try PublishedStatusList(steps: [.status(503, headers: ["Retry-After": asked])])
            let lists = issuer.lists()
            let error = await #expect(throws: OAuth2Error.self) { try await status(lists) }
            #expect(error?.retryAfter != nil)
            issuer.time.advance(by: .seconds(seconds - 1))
            await #expect(throws: OAuth2Error(.serverTransient, "")) { try await status(lists) }
            #expect(issuer.fetchCount == 1)
            issuer.time.advance(by: .seconds(1))
            _ = try await status(lists)
            #expect(issuer.fetchCount == 2)
        }
    }

    @Test("A stale list stays in use for the allowed time, whatever the failure", .shows("U13"))
    func stale() async throws {
        let lists = issuer.lists(outage: .acceptStale(for: .seconds(60)))
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(300))
        let foreign = try issuer.token(type: "JWT")
        let failures: [MockTransport.Step] = [
            .status(503), .failure(NetworkError(.connectionLost, "lost")),
            .response(PublishedStatusList.response(foreign)),
        ]
        for (number, failure) in failures.enumerated() {
            issuer.transport.append(failure)
            #expect(try await status(lists, 1) == .invalid)
            #expect(try await status(lists, 2) == .suspended)
            #expect(issuer.fetchCount == 2 + number)
            issuer.time.advance(by: .seconds(10))
        }
        issuer.time.advance(by: .seconds(30))
        issuer.transport.append(.status(503))
        await #expect(throws: OAuth2Error(.serverTransient, "")) { try await status(lists) }
        issuer.time.advance(by: .seconds(10))
        #expect(try await status(lists) == .valid)
    }

    @Test(
        "If a list can't be fetched again, only tokens without an entry in it are affected",
        arguments: [CachedStatusLists.OutageRule.reject, .acceptStale(for: .seconds(60))]
    )
    func enlargement(outage: CachedStatusLists.OutageRule) async throws {
        let lists = issuer.lists(outage: outage)
        _ = try await status(lists)
        issuer.time.advance(by: .seconds(10))
        issuer.transport.append(.status(503))
        for _ in 1...3 {
            await #expect(throws: OAuth2Error(.serverTransient, "")) { try await status(lists, 16) }
            #expect(try await status(lists, 1) == .invalid)
        }
        #expect(issuer.fetchCount == 2)
        issuer.time.advance(by: .seconds(10))
        await #expect(throws: TokenError(.statusRejected, "")) { try await status(lists, 16) }
        #expect(issuer.fetchCount == 3)
    }

    @Test("A stale list is never used after it has expired", .shows("U13"))
    func expiredWhileStale() async throws {
        try issuer.publish(nil, ["exp": .number(JSONNumber(issuer.api.now + 600))])
        let lists = issuer.lists(outage: .acceptStale(for: .seconds(86_400)))
        _ = try await status(lists)
        issuer.transport.append(.status(503), .status(503))
        issuer.time.advance(by: .seconds(659))
        #expect(try await status(lists) == .valid)
        issuer.time.advance(by: .seconds(1))
        await #expect(throws: OAuth2Error(.serverUnreachable, "")) { try await status(lists) }
    }

    @Test("Rules with any duration are usable")
    func durations() async throws {
        for duration in [Duration.seconds(-1), .seconds(Int64.max)] {
            #expect(try await status(issuer.lists(outage: .acceptStale(for: duration))) == .valid)
        }
        #expect(CachedStatusLists.OutageRule.acceptStale(for: .seconds(-1)) == .reject)
    }

    @Test("A server that doesn't respond in time is unreachable")
    func timeout() async throws {
        issuer.transport.append(.never)
        let lists = issuer.lists()
        let caller = Task { try await status(lists) }
        try await issuer.time.waitForSleepers(count: 1)
        issuer.time.advance(by: .seconds(5))
        await #expect(throws: OAuth2Error(.serverUnreachable, "")) { try await caller.value }
    }
}
