import Foundation
import MockNetworking
import OAuth2
import Testing
import TokenGeneration

@testable import WorkloadIdentity

/// A JWT of a platform, with a signature that is never verified.
struct SampleToken {
    /// The time of `ManualTime`, 2001-09-09T01:46:40Z.
    static let now = 1_000_000_000

    var header: JSONObject = ["alg": "RS256", "kid": "k"]
    var claims: JSONObject = [
        "iss": "https://platform.example", "sub": "system:serviceaccount:reports:api", "aud": ["https://as.example"],
        "exp": .number(JSONNumber(now + 600)), "jti": "S3cr3t-jti",
    ]

    /// Creates a token with claims that replace the default ones; `nil` removes a claim.
    init(_ changes: [String: JSONValue?] = [:]) {
        for (name, value) in changes { claims[name] = value }
    }

    static let svid = SampleToken(["sub": "spiffe://example.org/reports", "iss": nil])

    var text: String {
        [header, claims].map { Self.base64URL($0.serializedData()) }.joined(separator: ".") + ".c2lnbmF0dXJl"
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}

extension ManualTime {
    /// Returns a transport that responds with the steps in order.
    func transport(_ steps: MockTransport.Step...) -> MockTransport {
        MockTransport(steps: steps, time: timeSource, handler: nil)
    }

    /// Returns an environment with this time, without random delays.
    func environment(_ transport: MockTransport?, _ variables: [String: String?] = [:]) -> WorkloadEnvironment {
        WorkloadEnvironment(
            variable: { variables[$0] ?? nil },
            timeSource: timeSource,
            transport: transport,
            random: { 1 }
        )
    }
}

/// Returns the error with which a source fails.
func failure(
    of source: some TokenSource,
    _ requirements: TokenRequirements = TokenRequirements(),
    sourceLocation: SourceLocation = #_sourceLocation
) async -> WorkloadIdentityError? {
    await #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) {
        _ = try await source.token(for: requirements)
    }
}

/// Checks the error with which a source fails, which never contains the text `S3cr3t`.
func expectFailure(
    of source: some TokenSource,
    _ code: WorkloadIdentityError.Code,
    _ requirements: TokenRequirements = TokenRequirements(),
    step: WorkloadIdentityError.Step? = nil,
    status: Int? = nil,
    isRetryable: Bool? = nil,
    naming texts: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    let error = await failure(of: source, requirements, sourceLocation: sourceLocation)
    check(
        error,
        code,
        step: step,
        status: status,
        isRetryable: isRetryable,
        naming: texts,
        sourceLocation: sourceLocation
    )
}

/// Checks the error of a closure, such as the initializer of a source.
func expectError(
    _ code: WorkloadIdentityError.Code,
    naming texts: String...,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> some Any
) {
    let error = #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) { _ = try body() }
    check(error, code, naming: texts, sourceLocation: sourceLocation)
}

private func check(
    _ error: WorkloadIdentityError?,
    _ code: WorkloadIdentityError.Code,
    step: WorkloadIdentityError.Step? = nil,
    status: Int? = nil,
    isRetryable: Bool? = nil,
    naming texts: [String],
    sourceLocation: SourceLocation
) {
    guard let error else { return }
    let found = [error.code == code, step ?? error.step == error.step, status ?? error.status == error.status]
    let isExpected = found.allSatisfy(\.self) && isRetryable ?? error.isRetryable == error.isRetryable
    #expect(isExpected, "\(error), status \(error.status ?? 0)", sourceLocation: sourceLocation)
    let missing = texts.filter { !error.message.contains($0) }
    #expect(missing == [], "\(error)", sourceLocation: sourceLocation)
    #expect(!error.description.contains("S3cr3t"), sourceLocation: sourceLocation)
}

/// Returns the text of a token.
func text(_ token: AccessToken) -> String { token.value.expose { $0 } }

/// A temporary folder with a token file.
final class TokenFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "workload-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.appending(path: "token").path }

    /// Writes the file, with permissions for its owner only.
    func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}
