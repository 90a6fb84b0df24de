import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestSupport
import Testing
import TokenGeneration

/// Tests with requests that schemathesis derives from `Tests/Interop/orders.yaml`.
///
/// `Tests/Interop/servers` installs the program.
@Suite(
    "Hostile requests",
    .serialized,
    .enabled(if: Interop.variable("INTEROP_SCHEMATHESIS") != nil, Interop.serversHint),
    .timeLimit(.minutes(20))
)
struct HostileRequestTests {
    /// The `Authorization` fields of accepted requests.
    private final class Accepted: Sendable {
        let fields = Mutex<Set<String>>([])
    }

    @Test("An API responds as described, whatever the token", arguments: ["orders.read", "profile", nil])
    func responses(scope: String?) async throws {
        let key = try SigningKey.generate(.es256)
        var verifier = AccessTokenVerifier(
            issuer: "https://id.example",
            audience: "https://api.example",
            keys: .key(key.verificationKey)
        )
        verifier.realm = "orders"
        verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
        let field = try scope.map { "Bearer \(try Self.token(key, scope: $0))" }
        let accepted = Accepted()
        try await withLoopbackServer { server in
            server.fallback { [verifier] in await Self.response(to: $0, verifier, accepted) }
            let result = try await ChildProcess.run(
                Interop.required("INTEROP_SCHEMATHESIS"),
                ["run", Interop.file("orders.yaml"), "--url", server.baseURL.absoluteString, "--no-color"]
                    + ["--max-examples", "200", "--generation-deterministic", "--mode", "all"]
                    // The program also makes up `Authorization` fields, which must be rejected.
                    + ["--generation-with-security-parameters", "true"]
                    + ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
                    + (field.map { ["--header", "Authorization: \($0)"] } ?? [])
            )
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            #expect(result.output.contains("Tested: 1"), "\(result.output)")
            #expect(server.requestCount > 100)
        }
        #expect(accepted.fields.withLock { $0 } == (scope == "orders.read" ? [field ?? ""] : []))
    }

    private static func token(_ key: SigningKey, scope: String) throws -> String {
        let now = JSONNumber(Int(Date().timeIntervalSince1970))
        let later = JSONNumber(Int(Date().timeIntervalSince1970) + 3600)
        return try JWTGenerator(
            header: ["typ": "at+jwt"],
            payload: [
                "iss": "https://id.example", "sub": "ada", "aud": "https://api.example", "client_id": "shop",
                "jti": "7", "iat": .number(now), "exp": .number(later), "scope": .string(scope),
            ],
            signingService: key
        ).token()
    }

    private static func response(
        to request: LoopbackRequest,
        _ verifier: AccessTokenVerifier,
        _ accepted: Accepted
    ) async -> LoopbackResponse {
        guard request.method == .get else { return .status(405, headers: ["Allow": "GET"]) }
        let head = ProtectedRequest(
            method: request.method,
            url: "https://api.example\(request.target)",
            headers: request.headers
        )
        do {
            _ = try await verifier.verify(head, requires: AccessRequirement(scope: ["orders.read"]))
        } catch {
            return .status(error.status, headers: error.headers)
        }
        accepted.fields.withLock { _ = $0.insert(request.headers["Authorization"] ?? "") }
        guard let number = request.path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
        return .text("order \(number)")
    }
}
