import Foundation
public import OAuth2

/// What every `TokenStore` must keep to, as a suite that any test framework can run.
///
/// ```swift
/// @Test func store() async throws {
///     try await TokenStoreConformance { try await (RedisTokenStore(url), RedisTokenStore(url)) }.check()
/// }
/// ```
public struct TokenStoreConformance: Sendable {
    /// A promise that the store did not keep.
    public struct Violation: Sendable, CustomStringConvertible {
        /// The promise, in a few words.
        public let promise: String
        /// What happened instead.
        public let observation: String

        /// Both.
        public var description: String { "\(promise): \(observation)" }
    }

    /// The promises that a store did not keep.
    public struct Violations: Error, CustomStringConvertible {
        /// One for each promise.
        public let violations: [Violation]

        /// A line for each.
        public var description: String { violations.map(\.description).joined(separator: "\n") }
    }

    /// Two ways to one storage: two objects, as two processes would have them, or the same object twice.
    public typealias Pair = (any TokenStore, any TokenStore)

    private let makePair: @Sendable () async throws -> Pair

    /// Makes the suite.
    ///
    /// - Parameter makePair: Makes two stores that share an empty storage; called once for each promise. Stores that can't be shared
    ///   are given twice.
    public init(_ makePair: @escaping @Sendable () async throws -> Pair) {
        self.makePair = makePair
    }

    /// Runs the suite.
    ///
    /// - Throws: ``Violations`` if the store does not keep to it.
    public func check() async throws {
        let violations = await violations()
        if !violations.isEmpty { throw Violations(violations: violations) }
    }

    /// Runs the suite, and tells what was found.
    ///
    /// - Returns: The promises that the store did not keep; empty if it is one to rely on.
    public func violations() async -> [Violation] {
        var violations: [Violation] = []
        for (promise, check) in Self.promises {
            do {
                let (first, second) = try await makePair()
                if let observation = try await check(first, second) {
                    violations.append(Violation(promise: promise, observation: observation))
                }
            } catch {
                violations.append(Violation(promise: promise, observation: "it threw \(error)"))
            }
        }
        return violations
    }

    /// Tells what happened instead; `nil` if the promise was kept.
    typealias Check = @Sendable (any TokenStore, any TokenStore) async throws -> String?

    static let promises: [(promise: String, check: Check)] =
        TokenStoreConformance.records + TokenStoreConformance.versions + TokenStoreConformance.sections

    /// A record that has all that records can have.
    static func record(_ name: String) -> TokenRecord {
        TokenRecord(
            accessToken: Secret("access-\(name)"),
            tokenType: "DPoP",
            scope: "read write",
            expiration: Date(timeIntervalSince1970: 1_000_000_000.25),
            refreshToken: Secret("refresh/\(name)+é\"\\\n"),
            proofKey: Secret("-----BEGIN PRIVATE KEY-----\n\(name)\n-----END PRIVATE KEY-----\n"),
            proofKeyThumbprint: "thumbprint-\(name)",
            refreshAttempt: "attempt-\(name)",
            obtained: Date(timeIntervalSince1970: 999_999_999.5),
            isSignedOut: true
        )
    }
}
