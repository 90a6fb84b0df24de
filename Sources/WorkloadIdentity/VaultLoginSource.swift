public import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import OpenSSLCrypto
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
/// The result is a client token, which Vault accepts as a bearer token. Wrap the source in a
/// `CachedTokenSource`. After two thirds of a lease, the cache asks for a new token, and the source
/// renews the lease instead of logging in, if Vault permits it and the token wasn't rejected. When
/// Vault shortens the lease, because the token reaches its maximum lifetime, the next call logs in.
public struct VaultLoginSource: TokenSource {
    private static let unavailableStatuses: Set<Int> = [412, 472, 473]

    private let server: URL
    private let mount: String
    private let role: String
    private let jwt: any TokenSource
    private let namespace: String?
    private let environment: WorkloadEnvironment
    private let latest = SharedValue<VaultLease?>(nil)

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
                "the URL of Vault must be https without a path, or be on this machine; check VAULT_ADDR"
            )
        }
        guard !role.isEmpty, Self.isPath(mount), namespace.map(Self.isPath) ?? true else {
            throw WorkloadIdentityError(
                .notConfigured,
                "the role, mount and namespace of Vault must be names; see “vault auth list” and “vault list auth/jwt/role”"
            )
        }
        self.server = server
        self.mount = mount
        self.role = role
        self.jwt = jwt
        self.namespace = namespace
        self.environment = environment
    }

    /// Renews the lease of the latest token, or logs in.
    ///
    /// If Vault rejects the platform's token, the source reads it once more, and tries another one
    /// if there is one. The token's expiry is the end of the lease.
    ///
    /// - Throws: The errors of the platform's source and of each request (``WorkloadEnvironment``).
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = environment.timeSource.now()
        if let lease = latest.value, lease.isRenewable(at: now, for: requirements) {
            do {
                return try await renew(lease, for: requirements)
            } catch let error as WorkloadIdentityError where error.code == .platformRejected {
                // The token was revoked, or can't be renewed after all.
                latest.replace(with: nil)
            }
        }
        let assertion = try await jwt.token(for: TokenRequirements(deadline: requirements.deadline))
        do {
            return try await logIn(with: assertion, for: requirements)
        } catch let error as WorkloadIdentityError where error.code == .platformRejected && error.status == 400 {
            let deadline = requirements.deadline
            guard let other = try await jwt.replacement(for: assertion, until: deadline) else { throw error }
            return try await logIn(with: other, for: requirements)
        }
    }

    private func logIn(with assertion: AccessToken, for requirements: TokenRequirements) async throws -> AccessToken {
        let body: JSONObject = ["role": .string(role), "jwt": .string(assertion.value.expose { $0 })]
        let requested = environment.timeSource.now()
        let endpoint = endpoint { Self.explanation($0.errorCode) }
        let response = try await endpoint.response(
            to: request("auth/\(mount)/login", body),
            until: requirements.deadline
        )
        guard let answer = VaultLease.Answer(response.body) else { throw Self.invalid(endpoint) }
        // A lease of zero seconds doesn't end.
        let expiry = answer.lease == .zero ? nil : requested + answer.lease
        let token = try endpoint.bearerToken(in: answer.token, (expiry, requested), for: requirements)
        let lease = VaultLease(token: token, answer)
        latest.replace(with: lease)
        return lease.token
    }

    /// [Vault](https://developer.hashicorp.com/vault/api-docs/auth/token#renew-a-token-self).
    private func renew(_ lease: VaultLease, for requirements: TokenRequirements) async throws -> AccessToken {
        let increment = "\(lease.duration.components.seconds)s"
        var request = request("auth/token/renew-self", ["increment": .string(increment)])
        request.setValue(lease.token.value.expose { $0 }, forHTTPHeaderField: "X-Vault-Token")
        let requested = environment.timeSource.now()
        let endpoint = endpoint { _ in nil }
        let response = try await endpoint.response(to: request, until: requirements.deadline)
        guard let answer = VaultLease.Answer(response.body), answer.lease > .zero,
            Secret(answer.token) == lease.token.value
        else { throw Self.invalid(endpoint) }
        let renewed = lease.renewed(answer, requested: requested)
        latest.replace(with: renewed)
        return renewed.token
    }

    private func endpoint(
        _ explanation: @escaping @Sendable (ServerError) -> WorkloadIdentityError?
    ) -> PlatformEndpoint {
        var retries = PlatformRetries()
        retries.transientStatuses = Self.unavailableStatuses
        return PlatformEndpoint(name: "Vault", environment: environment, retries: retries, explanation: explanation)
    }

    private func request(_ path: String, _ body: JSONObject) -> URLRequest {
        var request = URLRequest(url: server.appending(path: "v1/\(path)"))
        request.httpMethod = "POST"
        request.httpBody = body.serializedData()
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        // Vault Agent can require the field, as a protection from request forgery.
        request.setValue("true", forHTTPHeaderField: "X-Vault-Request")
        if let namespace { request.setValue(namespace, forHTTPHeaderField: "X-Vault-Namespace") }
        return request
    }

    private static func invalid(_ endpoint: PlatformEndpoint) -> WorkloadIdentityError {
        endpoint.invalid("didn't respond with a client token and its lease; check the server's address")
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
        return problem.map { WorkloadIdentityError(request: .platformRejected, $0, status: status) }
    }

    /// Names with slashes between them.
    private static func isPath(_ text: String) -> Bool {
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        return names.allSatisfy { name in
            !name.isEmpty && name != "." && name != ".."
                && name.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
        }
    }
}

struct VaultLease: Sendable {
    struct Answer {
        let token: String
        /// The duration of the lease; zero if it doesn't end.
        let lease: Duration
        let isRenewable: Bool

        /// Returns `nil` if the response has no token or no lease.
        init?(_ body: Data) {
            guard let auth = (try? JSONObject(parsing: body))?["auth"]?.object,
                let token = auth["client_token"]?.string, let lease = auth["lease_duration"]?.number?.integer,
                lease >= 0
            else { return nil }
            self.token = token
            self.lease = Duration(clampingSeconds: lease)
            isRenewable = auth["renewable"] == true && auth["token_type"] != "batch"
        }
    }

    let token: AccessToken
    /// The duration of the first lease, which renewals ask for.
    let duration: Duration
    private let isRenewable: Bool

    init(token: AccessToken, duration: Duration? = nil, _ answer: Answer) {
        var token = token
        let duration = duration ?? answer.lease
        // A shorter lease shows that the token reaches its maximum lifetime.
        isRenewable = answer.isRenewable && answer.lease >= duration && duration > .zero
        if isRenewable { token.renewal = token.requested + answer.lease * (2.0 / 3.0) }
        self.token = token
        self.duration = duration
    }

    func renewed(_ answer: Answer, requested: ContinuousClock.Instant) -> Self {
        let renewed = AccessToken(
            value: token.value,
            type: token.type,
            expiry: requested + answer.lease,
            requested: requested
        )
        return Self(token: renewed, duration: duration, answer)
    }

    /// A cache that still has a usable token asks for another one, but accepts the renewed one.
    func isRenewable(at now: ContinuousClock.Instant, for requirements: TokenRequirements) -> Bool {
        guard isRenewable, let expiry = token.expiry, now < expiry else { return false }
        return requirements.isInBackground || !requirements.isUnwanted(token.value)
    }
}
