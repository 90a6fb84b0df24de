import Foundation
public import OAuth2

/// A test suite for implementations of `TokenStore`, for any test framework.
///
/// ```swift
/// @Test func store() async throws {
///     try await TokenStoreConformance {
///         try await (RedisTokenStore(url), RedisTokenStore(url))
///     }.check()
/// }
/// ```
public struct TokenStoreConformance: Sendable {
    /// A requirement that the store violates.
    public struct Violation: Sendable, CustomStringConvertible {
        /// A short description of the requirement.
        public let promise: String
        /// The observed behavior.
        public let observation: String

        /// The requirement and the observed behavior.
        public var description: String { "\(promise): \(observation)" }
    }

    /// The requirements that a store violates.
    public struct Violations: Error, CustomStringConvertible {
        /// The violations, one for each requirement.
        public let violations: [Violation]

        /// The violations, one per line.
        public var description: String { violations.map(\.description).joined(separator: "\n") }
    }

    /// Two stores with shared storage: two instances, as in two processes, or the same instance
    /// twice.
    public typealias Pair = (any TokenStore, any TokenStore)

    private let makePair: @Sendable () async throws -> Pair

    /// Creates the test suite.
    ///
    /// - Parameter makePair: Returns two stores that share an empty storage. It's called once for
    ///   each requirement. If stores can't share storage, return the same one twice. If hosts share
    ///   the records, exclusive access is checked in one of them.
    public init(_ makePair: @escaping @Sendable () async throws -> Pair) { self.makePair = makePair }

    /// Runs the test suite.
    ///
    /// - Throws: ``Violations`` if the store violates a requirement.
    public func check() async throws {
        var violations: [Violation] = []
        for requirement in Self.records + Self.versions + Self.sections + Self.changes {
            do {
                let (first, second) = try await makePair()
                if let observation = try await requirement.check(first, second) {
                    violations.append(Violation(promise: requirement.promise, observation: observation))
                }
            } catch {
                violations.append(Violation(promise: requirement.promise, observation: "it threw \(error)"))
            }
        }
        if !violations.isEmpty { throw Violations(violations: violations) }
    }

    struct Requirement: Sendable {
        let promise: String
        /// Returns the observed behavior, or `nil` if the store meets the requirement.
        let check: @Sendable (any TokenStore, any TokenStore) async throws -> String?
    }

    static func record(_ name: String) -> TokenRecord {
        TokenRecord(
            accessToken: Secret("access-\(name)"),
            tokenType: "DPoP",
            scope: "read write",
            expiration: Date(timeIntervalSince1970: 1_000_000_000.25),
            refreshToken: Secret("refresh/\(name)+é\"\\\n"),
            proofKey: Secret("-----BEGIN PRIVATE KEY-----\n\(name)\n-----END PRIVATE KEY-----\n"),
            proofKeyThumbprint: "thumbprint-\(name)",
            refreshAttempt: RefreshAttempt(
                id: "attempt-\(name)",
                host: "host\n\(name)",
                date: Date(timeIntervalSince1970: 999_999_998),
                validFor: .milliseconds(1_500),
                tries: 2,
                earlier: ["attempt-0", "é"]
            ),
            obtained: Date(timeIntervalSince1970: 999_999_999.5),
            end: .lost,
            epoch: "epoch-\(name)",
            generation: 7,
            pause: RefreshPause(duration: .seconds(30), end: Date(timeIntervalSince1970: 1_000_000_030))
        )
    }
}

extension TokenStore {
    func write(_ name: String, over version: TokenRecordVersion? = nil) async throws -> TokenRecordVersion? {
        try await compareAndSwap("k", expectedVersion: version, record: TokenStoreConformance.record(name))
    }
}
