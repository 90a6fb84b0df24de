import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Tests of records that a program with access to the store has written.
@Suite("Hostile token records", .limitedConcurrency)
struct HostileRecordTests {
    /// The outcome for a caller that needs a token.
    enum Outcome: Sendable {
        /// The stored access token.
        case stored
        /// A new token.
        case refreshed
        case fails(OAuth2Error.Code)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var format = "2"
        /// The members that differ from those of an expired token's record.
        var members: [String: String] = [:]
        let outcome: Outcome
        var testDescription: String { "\(format) \(members)" }
    }

    private static func attempt(_ validFor: String = "20.0", tries: String = "1", date: String = "0.0") -> String {
        #"{"id":"another","valid_for":"\#(validFor)","tries":\#(tries),"earlier":[],"date":"\#(date)"}"#
    }

    private static func pause(_ seconds: String, until end: String) -> String {
        #"{"seconds":"\#(seconds)","end":"\#(end)"}"#
    }

    private static let rows: [Row] =
        ["-1e99", "1e99", "0", "-1", "1.5", "9223372036854775808", #""2""#].map {
            Row(format: $0, outcome: .fails(.storeDamaged))
        }
        + [
            Row(format: "3", outcome: .fails(.storeTooNew)),
            Row(format: "9223372036854775807", outcome: .fails(.storeTooNew)),
            Row(format: "2.0", outcome: .refreshed), Row(outcome: .refreshed),
            Row(members: ["generation": "9223372036854775807"], outcome: .refreshed),
            Row(members: ["generation": "9223372036854775808"], outcome: .fails(.storeDamaged)),
            Row(members: ["generation": "-1"], outcome: .fails(.storeDamaged)),
            Row(members: ["expiration": #""1e300""#], outcome: .stored),
            Row(members: ["expiration": #""-1e300""#], outcome: .refreshed),
            Row(members: ["expiration": #""inf""#], outcome: .fails(.storeDamaged)),
            Row(members: ["expiration": #""1e300""#, "obtained": #""-1e300""#], outcome: .stored),
            Row(members: ["expiration": #""1e300""#, "obtained": #""1e300""#], outcome: .refreshed),
            Row(members: ["attempt": attempt(tries: "9223372036854775807")], outcome: .refreshed),
            Row(members: ["attempt": attempt(tries: "0")], outcome: .fails(.storeDamaged)),
            Row(members: ["attempt": attempt(tries: "1e19")], outcome: .fails(.storeDamaged)),
            Row(members: ["attempt": attempt("1e300")], outcome: .refreshed),
            Row(members: ["attempt": attempt("1e300", date: "1e300")], outcome: .fails(.serverUnreachable)),
            Row(members: ["attempt": attempt("-1")], outcome: .fails(.storeDamaged)),
            Row(members: ["attempt": attempt(date: "-1e300")], outcome: .refreshed),
            Row(members: ["pause": pause("1e300", until: "1e22")], outcome: .fails(.serverTransient)),
            Row(members: ["pause": pause("1e300", until: "-1e22")], outcome: .refreshed),
            Row(members: ["pause": pause("0", until: "1e300")], outcome: .refreshed),
            Row(members: ["pause": pause("nan", until: "1e300")], outcome: .fails(.storeDamaged)),
        ]

    private func store(_ row: Row, isSharedByHosts: Bool = false, _ time: ManualTime) -> RecordedTextStore {
        var members = [
            "access_token": #""old""#, "token_type": #""Bearer""#, "refresh_token": #""r0""#, "expiration": #""0.0""#,
            "generation": "1", "epoch": #""e""#,
        ]
        for (name, value) in row.members { members[name] = value }
        let record = "{\(members.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
        return RecordedTextStore(
            format: row.format,
            record: record,
            isSharedByHosts: isSharedByHosts,
            time.timeSource
        )
    }

    @Test(
        "Any number in a record leads to a token or an error, and a sign-in repairs the record",
        .shows("S17"),
        arguments: rows
    )
    func numbers(row: Row) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1")])
        let store = store(row, fixture.time)
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("r0")), store: store)
        switch row.outcome {
        case .stored: #expect(try await authenticator.text() == "old")
        case .refreshed: #expect(try await authenticator.text() == "a1")
        case .fails(let code):
            #expect(await failureCode { _ = try await authenticator.text() } == code)
            guard code != .storeTooNew else { break }
            try await authenticator.signIn(with: Secret("r9"))
            #expect(try await authenticator.text() == "a1")
            #expect(fixture.forms.map { $0["refresh_token"] } == ["r9"])
        }
        await fixture.runOut()
    }

    @Test("Counters of a record stop at the largest number")
    func counters() async throws {
        let fixture = OAuth2Fixture(steps: [.status(429), .tokens("a1", refresh: "r1")])
        let largest = "9223372036854775807"
        let row = Row(
            members: ["generation": largest, "attempt": Self.attempt(tries: largest)],
            outcome: .refreshed
        )
        let store = store(row, fixture.time)
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("r0")), store: store)
        #expect(await failureCode { _ = try await authenticator.text() } == .serverTransient)
        #expect(store.content?["attempt"]?.object?["tries"]?.number?.integer == .max)
        fixture.time.advance(by: .seconds(60))
        #expect(try await authenticator.text() == "a1")
        #expect(store.content?["generation"]?.number?.integer == .max)
        #expect(store.content?["refresh_token"] == "r1")
    }

    @Test("Hosts respect another's attempt and pause for at most an hour, whatever a store returns")
    func durations() async {
        for validFor in [Duration.seconds(3_601), .seconds(Int64.max)] {
            for tries in [1, 3, .max] {
                let attempt = RefreshAttempt(id: "another", validFor: validFor, tries: tries)
                #expect(RefreshDeadlines.validity(of: attempt) == .seconds(3_600))
            }
        }
        let fixture = SharedGrantFixture([])
        fixture.write {
            $0.expiration = Date(timeIntervalSince1970: 0)
            $0.pause = RefreshPause(duration: .seconds(Int64.max), end: .distantFuture)
        }
        #expect(await fixture.code(on: 0)?.retryAfter == .seconds(3_600))
    }

    @Test("A grant that needs no user replaces a damaged record with its next token")
    func replaced() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1")])
        let store = store(Row(format: "-1e99", outcome: .refreshed), isSharedByHosts: true, fixture.time)
        #expect(try await fixture.authenticator(store: store).text() == "a1")
        #expect(store.content?["access_token"] == "a1")
    }
}
