public import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import TokenGeneration

/// A token source for Vault or OpenBao that logs in with a platform's token
/// ([Vault](https://developer.hashicorp.com/vault/docs/auth/jwt)).
///
/// ```swift
/// let source = CachedTokenSource(
///     try VaultLoginSource(
///         server: URL(string: "https://vault.example:8200")!,
///         role: "reports",
///         jwt: KubernetesServiceAccountSource(
///             audience: "https://vault.example",
///             path: "/var/run/secrets/tokens/vault"
///         )
///     )
/// )
/// ```
///
/// The result is a client token, which Vault accepts as a bearer token. Each call logs in, so wrap
/// the source in a `CachedTokenSource`. It logs in again before the lease ends, instead of renewing
/// it.
public struct VaultLoginSource: TokenSource {
    private static let unavailableStatuses: Set<Int> = [412, 472, 473]

    private let url: URL
    private let role: String
    private let jwt: any TokenSource
    private let namespace: String?
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - server: The URL of the active node or of a load balancer, without `/v1`. Plain HTTP is
    ///     accepted only for this machine.
    ///   - role: The role of the authentication method.
    ///   - jwt: The source of the platform's tokens, with an audience in the role's
    ///     `bound_audiences`.
    ///   - mount: The path of the authentication method. The default is `jwt`.
    ///   - namespace: The namespace, such as `teams/reports`. The default is `nil`.
    ///   - environment: The clocks and network. Pass a transport for a private certificate
    ///     authority or a proxy.
    /// - Throws: ``WorkloadIdentityError`` with the code `insecureEndpoint` if the URL isn't
    ///   confidential, or `notConfigured` if the role, mount or namespace is invalid.
    public init(
        server: URL,
        role: String,
        jwt: any TokenSource,
        mount: String = "jwt",
        namespace: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        guard HTTPOrigin(server)?.isConfidential == true, server.user == nil, server.query == nil,
            server.fragment == nil, ["", "/"].contains(server.path)
        else {
            throw WorkloadIdentityError(
                .insecureEndpoint,
                .read,
                "the URL of Vault must be https without a path, or be on this machine; check VAULT_ADDR"
            )
        }
        guard !role.isEmpty, Self.isPath(mount), namespace.map(Self.isPath) ?? true else {
            throw WorkloadIdentityError(
                .notConfigured,
                .read,
                "the role, mount and namespace of Vault must be names; see “vault auth list” and “vault list auth/jwt/role”"
            )
        }
        url = server.appending(path: "v1/auth/\(mount)/login")
        self.role = role
        self.jwt = jwt
        self.namespace = namespace
        self.environment = environment
    }

    /// Logs in.
    ///
    /// If Vault rejects the platform's token, the source reads it once more, and tries another one
    /// if there is one. It repeats a request up to four times, for at most 30 seconds, if the
    /// server can't be reached, is overloaded or fails.
    ///
    /// - Parameter requirements: The requirements for the token.
    /// - Returns: The client token, with the lease's end as its expiry.
    /// - Throws: The errors of the platform's source; ``WorkloadIdentityError`` with the code
    ///   `platformUnavailable`, `platformRejected`, `invalidResponse`, `tooLarge`,
    ///   `malformedToken` or `rejectedToken`; `CancellationError` if the task is cancelled.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let assertion = try await jwt.token(for: TokenRequirements(deadline: requirements.deadline))
        do {
            return try await logIn(with: assertion, for: requirements)
        } catch let error as WorkloadIdentityError where error.code == .platformRejected && error.status == 400 {
            guard jwt.canReplaceTokens,
                let other = try await replacement(for: assertion, until: requirements.deadline)
            else { throw error }
            return try await logIn(with: other, for: requirements)
        }
    }

    private func replacement(
        for token: AccessToken,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AccessToken? {
        do {
            let other = try await jwt.token(for: .replacing(token, deadline: deadline))
            return other.value == token.value ? nil : other
        } catch let error as any UnchangedTokenError where error.isUnchangedToken {
            return nil
        }
    }

    private func logIn(with assertion: AccessToken, for requirements: TokenRequirements) async throws -> AccessToken {
        let body: JSONObject = ["role": .string(role), "jwt": .string(assertion.value.expose { $0 })]
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body.serializedData()
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        // Vault Agent can require the field, as a protection from request forgery.
        request.setValue("true", forHTTPHeaderField: "X-Vault-Request")
        if let namespace { request.setValue(namespace, forHTTPHeaderField: "X-Vault-Namespace") }
        var retries = PlatformRetries()
        retries.transientStatuses = Self.unavailableStatuses
        let endpoint = PlatformEndpoint(name: "Vault", environment: environment, retries: retries) {
            Self.explanation($0.errorCode)
        }
        let requested = environment.timeSource.now()
        let response = try await endpoint.response(to: request, until: requirements.deadline)
        guard let auth = (try? JSONObject(parsing: response.body))?["auth"]?.object,
            let value = auth["client_token"]?.string, let lease = auth["lease_duration"]?.number?.integer, lease >= 0
        else { throw endpoint.invalid("didn't respond with a client token and its lease; check the server's address") }
        let rules = PlatformToken(
            origin: "the response of Vault",
            step: .request,
            form: .opaque,
            type: AccessToken.bearer,
            audience: nil,
            audienceAdvice: ""
        )
        return try rules.accessToken(
            in: Array(value.utf8),
            // A lease of zero seconds doesn't end. A century: a longer duration could overflow.
            expiry: lease == 0 ? nil : requested + .seconds(min(lease, 3_000_000_000)),
            requested: requested,
            for: requirements,
            environment.timeSource
        )
    }

    private static func explanation(_ status: Int) -> WorkloadIdentityError? {
        let problem: String? =
            switch status {
            case 300..<400: "a standby node redirects, which isn't followed; use the address of the active node"
            case 400: "Vault rejects the JWT or the role; check its bound_audiences, bound_subject and bound_claims"
            case 403: "Vault denies the login; check the namespace, and that the authentication method is enabled"
            case 404: "Vault has no such authentication method; run “vault auth enable jwt”, or check its path"
            default: nil
            }
        return problem.map { WorkloadIdentityError(.platformRejected, .request, $0, status: status) }
    }

    /// Returns a Boolean value that indicates whether a text consists of names with slashes between
    /// them.
    private static func isPath(_ text: String) -> Bool {
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        return names.allSatisfy { name in
            !name.isEmpty && name != "." && name != ".."
                && name.utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                        || [0x2D, 0x2E, 0x5F].contains($0)
                }
        }
    }
}
