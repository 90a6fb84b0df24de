import Networking
public import OAuth2
public import TokenGeneration

/// The keys with which requests to AWS are signed.
///
/// ```swift
/// let credentials = AWSCredentials(
///     accessKeyID: "AKIAIOSFODNN7EXAMPLE",
///     secretAccessKey: Secret(secret)
/// )
/// ```
///
/// An ``AWSCredentialSource`` gets them from the platform, which is better than to store them.
public struct AWSCredentials: Sendable, Hashable, Redacted {
    /// The ID of the access key, which isn't secret.
    public let accessKeyID: String
    /// The secret key.
    public let secretAccessKey: Secret
    /// The token of temporary credentials; `nil` for permanent ones.
    public let sessionToken: Secret?
    /// The expiry on the monotonic clock; `nil` for permanent credentials.
    public let expiry: ContinuousClock.Instant?
    /// A Boolean value that indicates whether the credentials are used after the expiry that their
    /// issuer stated.
    var isExtended = false

    /// Creates credentials.
    public init(
        accessKeyID: String,
        secretAccessKey: Secret,
        sessionToken: Secret? = nil,
        expiry: ContinuousClock.Instant? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiry = expiry
    }

    /// A text without the keys.
    public var description: String { "AWS credentials" }

    // MARK: Checks

    func check() throws(WorkloadIdentityError) {
        let isID = accessKeyID.utf8.allSatisfy { Self.isVisible($0) && !"/,".utf8.contains($0) }
        guard isID, !accessKeyID.isEmpty else { throw Self.malformed("access key ID") }
        guard Self.isVisible(secretAccessKey) else { throw Self.malformed("secret key") }
        guard sessionToken.map(Self.isVisible) ?? true else { throw Self.malformed("session token") }
    }

    private static func isVisible(_ secret: Secret) -> Bool {
        secret.expose { !$0.isEmpty && $0.utf8.allSatisfy { isVisible($0) } }
    }

    private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    private static func malformed(_ part: String) -> WorkloadIdentityError {
        WorkloadIdentityError(
            .malformedToken,
            "the AWS credentials have an empty \(part) or one with invalid characters; check where they come from"
        )
    }

    // MARK: Credentials as a token

    // The lifecycle of tokens is also that of credentials. No authenticator gets such a token.

    static let tokenType = AWSSignatureV4.algorithm

    func token(requested: ContinuousClock.Instant) throws -> AccessToken {
        try check()
        let secrets = [secretAccessKey, sessionToken].compactMap { $0?.expose { $0 } }
        let text = ([accessKeyID] + secrets).joined(separator: "\n")
        return AccessToken(value: Secret(text), type: Self.tokenType, expiry: expiry, requested: requested)
    }

    init(_ token: AccessToken) {
        let parts = token.value.expose { $0.utf8.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } }
        let part = { (index: Int) in index < parts.count ? parts[index] : "" }
        self.init(
            accessKeyID: part(0),
            secretAccessKey: Secret(part(1)),
            sessionToken: parts.count > 2 ? Secret(part(2)) : nil,
            expiry: token.expiry
        )
    }
}

/// A source of AWS credentials, which are renewed ahead of their expiry by one request for all
/// callers.
///
/// ```swift
/// let credentials = AWSCredentialSource.default()
/// let admin = AWSCredentialSource.role(
///     "arn:aws:iam::123456789012:role/admin",
///     with: credentials
/// )
/// ```
///
/// Copies share the credentials. A source never continues with another identity if its own fails.
public struct AWSCredentialSource: Sendable {
    typealias Request = @Sendable (ContinuousClock.Instant?) async throws -> AWSCredentials

    /// The origin of the credentials, for logs: `the environment`, or `the profile “dev”`.
    public let name: String
    private let cache: CachedTokenSource
    /// The latest credentials with their form as a token, which copies share.
    private let latest = SharedValue<(token: AccessToken, credentials: AWSCredentials)?>(nil)
    private let rejected = SharedValue<Secret?>(nil)

    /// Creates a source that calls a closure.
    ///
    /// - Parameters:
    ///   - name: The origin of the credentials, for logs.
    ///   - environment: The clocks.
    ///   - request: A closure that gets credentials, with their expiry, and stops at the given
    ///     time.
    public init(
        _ name: String,
        environment: WorkloadEnvironment = WorkloadEnvironment(),
        request: @escaping @Sendable (_ deadline: ContinuousClock.Instant?) async throws -> AWSCredentials
    ) {
        self.name = name
        let source = AWSCredentialRequest(
            name: name,
            timeSource: environment.timeSource,
            rejected: rejected,
            request: request
        )
        let timing = OAuth2Timing(timeSource: environment.timeSource, random: environment.random)
        cache = CachedTokenSource(source, timing: timing)
    }

    /// Returns credentials, which are valid for long enough to send a request.
    ///
    /// - Parameter deadline: The time when the caller stops waiting. The default is `nil`, which
    ///   waits until the request for credentials times out.
    /// - Returns: The current credentials, or new ones.
    /// - Throws: ``WorkloadIdentityError`` if there are none, as the function that created the
    ///   source says; `NetworkError` with the code `timedOut` at the deadline; the closure's error.
    public func credentials(until deadline: ContinuousClock.Instant? = nil) async throws -> AWSCredentials {
        let token = try await token(for: TokenRequirements(deadline: deadline))
        if let latest = latest.value, latest.token.value == token.value, latest.token.expiry == token.expiry {
            return latest.credentials
        }
        let credentials = AWSCredentials(token)
        latest.replace(with: (token, credentials))
        return credentials
    }

    /// Returns whether there are other credentials than those that AWS rejects.
    func replace(_ rejected: AWSCredentials, until deadline: ContinuousClock.Instant?) async -> Bool {
        guard let token = try? rejected.token(requested: .now) else { return false }
        self.rejected.replace(with: token.value)
        return (try? await self.token(for: .replacing(token, deadline: deadline))) != nil
    }

    private func token(for requirements: TokenRequirements) async throws -> AccessToken {
        do { return try await cache.token(for: requirements) } catch let error as OAuth2Error {
            throw error.cause ?? error
        }
    }
}

private struct AWSCredentialRequest: TokenSource {
    let name: String
    let timeSource: TimeSource
    /// The latest credentials that AWS has rejected.
    let rejected: SharedValue<Secret?>
    let request: AWSCredentialSource.Request

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let requested = timeSource.now()
        let credentials = try await request(requirements.deadline)
        if let expiry = credentials.expiry, expiry <= timeSource.now() {
            throw WorkloadIdentityError(
                .expiredToken,
                "the AWS credentials of \(name) have expired; check the clock of this machine and what issues them"
            )
        }
        let token = try credentials.token(requested: requested)
        // Permanent credentials are read again from time to time, and are usually the same.
        let isKept =
            credentials.isExtended
            ? rejected.value != token.value : requirements.isInBackground && token.expiry == nil
        guard isKept || !requirements.isUnwanted(token.value) else {
            throw WorkloadIdentityError(
                .rejectedToken,
                "\(name) has no other AWS credentials than those that AWS rejects; replace them, or wait for new ones"
            )
        }
        return token
    }
}
