public import OAuth2

/// A token source that uses the first platform that this process runs on.
///
/// ```swift
/// let source = DefaultTokenSource([
///     .gitHubActions(audience: audience),
///     .kubernetes(audience: audience, path: "/var/run/secrets/tokens/as"),
///     .google(audience: audience),
/// ])
/// ```
///
/// The source chooses when it's created, by variables and files, and sends no request for it. The
/// choice is final: if the chosen platform fails later, the source fails, and never continues with
/// another identity. ``skipped`` and the errors say which platforms don't apply, and why.
public struct DefaultTokenSource: TokenSource {
    /// The name of the chosen platform; `nil` if none applies.
    public let platform: String?
    /// The platforms before it in the list, with the reasons why they don't apply.
    public let skipped: [(name: String, reason: String)]
    private let source: (any TokenSource)?

    /// Creates a source, and chooses the platform.
    ///
    /// - Parameter platforms: The platforms, the preferred one first.
    public init(_ platforms: [WorkloadPlatform]) {
        var skipped: [(name: String, reason: String)] = []
        for platform in platforms {
            guard let reason = platform.obstacle() else {
                self.platform = platform.name
                self.skipped = skipped
                source = platform.source
                return
            }
            skipped.append((platform.name, reason))
        }
        platform = nil
        self.skipped = skipped
        source = nil
    }

    /// Returns a token of the chosen platform.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if no platform applies;
    ///   otherwise the errors of the chosen platform's source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        guard let source else {
            let reasons = skipped.map { "\($0.name): \($0.reason)" }.joined(separator: "; ")
            throw WorkloadIdentityError(
                .notConfigured,
                "none of the platforms applies to this process (\(reasons)); add the one that it runs on"
            )
        }
        return try await source.token(for: requirements)
    }
}
