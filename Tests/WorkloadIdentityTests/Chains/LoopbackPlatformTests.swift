import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import WorkloadIdentity

/// Requests tokens with the default transport from a server on this machine.
@Suite("Platforms on loopback", .limitedConcurrency)
struct LoopbackPlatformTests {
    private func source(_ platform: String, _ server: LoopbackServer) throws -> any TokenSource {
        let variables = [
            "GCE_METADATA_HOST": "127.0.0.1:\(server.port)",
            "IDENTITY_ENDPOINT": server.url(for: "/msi").absoluteString,
            "IDENTITY_HEADER": "S3cr3t-header",
        ]
        let environment = WorkloadEnvironment(variable: { variables[$0] })
        return switch platform {
        case "google": GoogleMetadataSource(environment: environment)
        case "azure": AzureManagedIdentitySource(resource: "r", environment: environment)
        default: try VaultLoginSource(server: server.baseURL, role: "r", jwt: FixedIdentity(), environment: environment)
        }
    }

    /// A token of a platform that doesn't change.
    private struct FixedIdentity: TokenSource {
        func token(for requirements: TokenRequirements) -> AccessToken {
            AccessToken(value: Secret("jwt"), type: "N_A", requested: .now)
        }
    }

    private static let path = [
        "google": "/computeMetadata/v1/instance/service-accounts/default/token", "azure": "/msi",
        "vault": "/v1/auth/jwt/login",
    ]

    @Test("Gets a token after a failure", arguments: ["google", "azure", "vault"])
    func token(platform: String) async throws {
        let server = try LoopbackServer.start()
        let path = try #require(Self.path[platform])
        server.on(
            platform == "vault" ? .post : .get,
            path,
            .status(503),
            .json(
                #"{"access_token":"S3cr3t","expires_in":60,"auth":{"client_token":"S3cr3t","lease_duration":60}}"#,
                headers: ["Metadata-Flavor": "Google"]
            )
        )
        let token = try await source(platform, server).token()
        #expect(text(token) == "S3cr3t")
        #expect(token.expiry != nil)
        #expect(server.requests.count == 2)
        let field = ["google": "Metadata-Flavor", "azure": "X-IDENTITY-HEADER", "vault": "X-Vault-Request"][platform]
        #expect(server.requests.allSatisfy { $0.headers[field ?? ""] != nil })
        await server.stop()
    }

    @Test("Doesn't follow a redirect with the platform's credential", arguments: ["google", "azure", "vault"])
    func redirect(platform: String) async throws {
        let elsewhere = try LoopbackServer.start()
        let server = try LoopbackServer.start()
        let path = try #require(Self.path[platform])
        let location = elsewhere.url(for: "/").absoluteString
        server.on(platform == "vault" ? .post : .get, path, .status(307, headers: ["Location": location]))
        let error = await #expect(throws: WorkloadIdentityError.self) { try await source(platform, server).token() }
        #expect(error?.code == .platformRejected)
        #expect(elsewhere.requests.isEmpty)
        await server.stop()
        await elsewhere.stop()
    }

    @Test("A platform that isn't there is worth another try later", arguments: ["google", "azure"])
    func unreachable(platform: String) async throws {
        let server = try LoopbackServer.start()
        let source = try source(platform, server)
        await server.stop()
        let error = await #expect(throws: WorkloadIdentityError.self) {
            try await source.token(for: TokenRequirements(deadline: .now + .seconds(1)))
        }
        #expect(error?.code == .platformUnavailable)
        #expect(error?.isRetryable == true)
    }
}
