import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("ID tokens of devices", .limitedConcurrency)
struct DeviceIDTokenTests {
    /// Gets the tokens of a device that its user has authorized.
    private func tokens(
        _ fixture: ServerFixture,
        scope: String = "openid read",
        _ misbehavior: MockAuthorizationServer.Fault? = nil,
        idToken: IDTokenRule? = nil
    ) async throws -> IssuedTokens {
        let client = fixture.client()
        let device = try await client.authorizeDevice(scope: scope)
        let approve = { (_: DeviceAuthorizationProgress) in _ = fixture.server.approveDevice(userCode: device.userCode)
        }
        if let misbehavior { fixture.server.misbehave(misbehavior) }
        guard let idToken else { return try await client.tokens(for: device, progress: approve) }
        return try await client.tokens(for: device, idToken: idToken, progress: approve)
    }

    private func play(_ body: (ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.with({ $0.deviceInterval = .seconds(1) }, body)
    }

    @Test("Verifies the ID token with the rule's verifier")
    func verified() async throws {
        try await play { fixture in
            let tokens = try await tokens(fixture, idToken: fixture.idToken(fixture.client()))
            #expect(tokens.idToken?.registered.subject == "ada")
            #expect(tokens.idToken?.registered.audience == ["public"])
        }
    }

    @Test("Doesn't verify the ID token without a rule")
    func unverified() async throws {
        try await play { fixture in
            for rule in [nil, .skipIDTokenCheck, .notRequested] as [IDTokenRule?] {
                let tokens = try await tokens(fixture, idToken: rule)
                #expect(tokens.idToken == nil)
                #expect(tokens.unverifiedIDToken != nil)
            }
        }
    }

    @Test("Rejects the tokens if the ID token is missing or invalid")
    func refused() async throws {
        try await play { fixture in
            let rule = fixture.idToken(fixture.client())
            for (misbehavior, code) in [
                (.members(["id_token": nil]), nil), (.signedToken(.wrongAudience), .audienceMismatch),
                (.signedToken(.wrongAccessTokenHash), .hashMismatch), (.signedToken(.mixedUpKeys), .signatureInvalid),
                (.signedToken(.claims(["nonce": "another"])), .nonceMismatch),
            ] as [(MockAuthorizationServer.Fault, TokenError.Code?)] {
                let error = await #expect(throws: OAuth2Error.self) {
                    try await tokens(fixture, misbehavior, idToken: rule)
                }
                #expect(error?.code == .protocolViolation)
                #expect((error?.cause as? TokenError)?.code == code)
            }
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await tokens(fixture, scope: "read", idToken: rule)
            }
        }
    }

    @Test("Doesn't poll the server while the provider's keys can't be loaded")
    func withoutKeys() async throws {
        try await play { fixture in
            fixture.server.misbehave(at: .keys, .huge())
            let before = fixture.server.tokenRequestCount
            await #expect(throws: OAuth2Error.self) {
                try await tokens(fixture, idToken: fixture.idToken(fixture.client()))
            }
            #expect(fixture.server.tokenRequestCount == before)
        }
    }
}
