// What users write in a module whose default isolation is the main actor, as Xcode's new
// applications have it. See Guesses.swift.

import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TokenGeneration

struct Isolated: Codable {
    var title: String
}

nonisolated struct Report: Codable {
    var title: String
}

nonisolated struct OrderClaims: Codable {
    var iss: String
    var exp: Date
}

func models(_ client: NetworkClient) async throws {
    _ = try await client.get("reports/42", as: Report.self)
    _ = try await client.post("reports", json: Report(title: "May"), as: Report.self)
    // refused: main actor-isolated conformance of 'Isolated' to 'Decodable'
    _ = try await client.get("reports/42", as: Isolated.self)
    // refused: main actor-isolated conformance of 'Isolated' to 'Encodable'
    _ = try await client.post("reports", json: Isolated(title: "May"), as: Report.self)
}

func claims(_ key: SigningKey, _ verifier: JWTVerifier) throws {
    let token = try key.sign(OrderClaims(iss: "orders", exp: Date(timeIntervalSinceNow: 300)))
    _ = try verifier.verify(token, as: OrderClaims.self)
}

final class Authenticator: URLRequestAuthenticator {
    let credentialFields: Set = ["X-Api-Key"]

    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest { request }

    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action { .none }
}

nonisolated struct Store: TokenStore {
    func load(_ key: String) async throws -> VersionedTokenRecord? { nil }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        nil
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool { true }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: nonisolated(nonsending) @Sendable () async throws -> Result
    ) async throws -> Result {
        try await body()
    }
}
