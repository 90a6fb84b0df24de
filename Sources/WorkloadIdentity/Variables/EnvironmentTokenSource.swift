public import OAuth2

/// A token source that reads an environment variable.
///
/// The variable is read for each token. Its value doesn't change while the process runs, so the
/// source can't replace a token.
public struct EnvironmentTokenSource: TokenSource {
    private let variable: String
    private let missing: String
    private let rules: PlatformToken
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - variable: The name of the variable.
    ///   - type: The type of the token. The default is a JWT. A token of the type `accessToken`
    ///     can be sent in requests; others are only for token requests.
    ///   - audience: The audience that a JWT must have. The default, `nil`, accepts any. Name the
    ///     server that gets the token.
    ///   - environment: The variables and clocks.
    public init(
        _ variable: String,
        type: TokenType = .jwt,
        audience: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.init(
            variable,
            form: [.jwt, .idToken].contains(type) ? .jwt : .opaque,
            type: type == .accessToken ? AccessToken.bearer : AccessToken.notApplicable,
            audience: audience,
            missing: "set it to the token",
            audienceAdvice: "check the audience, and what sets the variable",
            expiryAdvice: "the process can't get another one; start it with a new token",
            environment
        )
    }

    init(
        _ variable: String,
        form: PlatformToken.Form,
        type: String = AccessToken.notApplicable,
        audience: String?,
        missing: String,
        audienceAdvice: String,
        expiryAdvice: String,
        _ environment: WorkloadEnvironment
    ) {
        self.variable = variable
        self.missing = missing
        self.environment = environment
        rules = PlatformToken(
            origin: variable,
            step: .read,
            form: form,
            type: type,
            audience: audience,
            audienceAdvice: audienceAdvice,
            expiryAdvice: expiryAdvice
        )
    }

    /// Always `false`.
    public var canReplaceTokens: Bool { false }

    /// Reads the token in the variable.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured`, `tooLarge`,
    ///   `malformedToken`, `wrongAudience` or `expiredToken`; `rejectedToken` if the requirements
    ///   rule the token out.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        let value = try environment.value(of: variable, advice: missing)
        return try rules.accessToken(in: Array(value.utf8), for: requirements, environment.timeSource)
    }
}
