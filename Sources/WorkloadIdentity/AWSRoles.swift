public import OAuth2

extension AWSCredentialSource {
    /// Returns a source that assumes a role for the token of another platform
    /// ([AWS](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html)).
    ///
    /// ```swift
    /// let credentials = AWSCredentialSource.webIdentity(
    ///     token: GitHubActionsSource(audience: "sts.amazonaws.com"),
    ///     role: "arn:aws:iam::123456789012:role/deploy",
    ///     region: "eu-central-1"
    /// )
    /// ```
    ///
    /// If AWS says that the token isn't valid any more, the source is asked for another one, once.
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` if a variable or the region is
    /// missing, `invalidConfiguration` for an invalid role or session name, `expiredToken`, those
    /// of each request (``WorkloadEnvironment``), or the error of the token's source.
    ///
    /// - Parameters:
    ///   - token: The source of the platform's token. The default, `nil`, reads the file in
    ///     `AWS_WEB_IDENTITY_TOKEN_FILE` for each request, as in a pod of EKS.
    ///   - role: The ARN of the role. The default is `AWS_ROLE_ARN`.
    ///   - sessionName: The name of the session in AWS's logs. The default is
    ///     `AWS_ROLE_SESSION_NAME`, or else a name with the time.
    ///   - duration: The validity of the credentials. The default is AWS's, one hour.
    ///   - region: The region of the service. The default is `AWS_REGION` or `AWS_DEFAULT_REGION`.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func webIdentity(
        token: (any TokenSource)? = nil,
        role: String? = nil,
        sessionName: String? = nil,
        duration: Duration? = nil,
        region: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        let missing = "AWS_WEB_IDENTITY_TOKEN_FILE names it; check the service account of the pod"
        return Self("the role for a web identity", environment: environment) { deadline in
            let advice = "annotate the pod's service account with “eks.amazonaws.com/role-arn”, or set the variable"
            let arn = if let role { role } else { try environment.value(of: "AWS_ROLE_ARN", advice: advice) }
            let file = { () throws(WorkloadIdentityError) in
                let path = try environment.value(of: "AWS_WEB_IDENTITY_TOKEN_FILE", advice: advice)
                return FileTokenSource(path: path, form: .opaque, missing: missing, environment)
            }
            let source: any TokenSource = if let token { token } else { try file() }
            return try await AWSSecurityTokenService(region: region, environment).credentials(
                of: AWSSecurityTokenService.Role(role: arn, sessionName: sessionName, duration: duration),
                for: source,
                until: deadline
            )
        }
    }

    /// Returns a source that assumes a role with other credentials, also those of another role
    /// ([AWS](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html)).
    ///
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` if the region is missing,
    /// `invalidConfiguration` for an invalid role or session name, those of each request
    /// (``WorkloadEnvironment``), or the error of the credentials' source.
    ///
    /// - Parameters:
    ///   - role: The ARN of the role.
    ///   - source: The source of the credentials that sign the request.
    ///   - sessionName: The name of the session in AWS's logs. The default is
    ///     `AWS_ROLE_SESSION_NAME`, or else a name with the time.
    ///   - externalID: The ID that the role of another account requires. The default is `nil`.
    ///   - duration: The validity of the credentials. The default is AWS's, one hour.
    ///   - region: The region of the service. The default is `AWS_REGION` or `AWS_DEFAULT_REGION`.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func role(
        _ role: String,
        with source: AWSCredentialSource,
        sessionName: String? = nil,
        externalID: String? = nil,
        duration: Duration? = nil,
        region: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self("a role with \(source.name)", environment: environment) { deadline in
            try await AWSSecurityTokenService(region: region, environment).credentials(
                of: AWSSecurityTokenService.Role(
                    role: role,
                    sessionName: sessionName,
                    externalID: externalID,
                    duration: duration
                ),
                with: source,
                until: deadline
            )
        }
    }
}

/// A token source for the tokens that AWS issues to a role for other parties
/// ([AWS](https://docs.aws.amazon.com/STS/latest/APIReference/API_GetWebIdentityToken.html)).
///
/// ```swift
/// let source = AWSWebIdentityTokenSource(
///     audience: "https://as.example",
///     credentials: .default()
/// )
/// let grant = JWTBearerGrant(assertion: source, identifier: "reports")
/// ```
///
/// The token is a JWT, which the other party verifies with the keys of the account's issuer. Use it
/// as a client assertion, as the assertion of a grant, or as the subject of a token exchange.
public struct AWSWebIdentityTokenSource: TokenSource {
    private let audience: String
    private let credentials: AWSCredentialSource
    private let algorithm: SigningAlgorithm
    private let lifetime: Duration
    private let region: String?
    private let environment: WorkloadEnvironment

    /// The algorithm with which AWS signs a token.
    public enum SigningAlgorithm: String, Sendable {
        /// ECDSA with P-384 and SHA-384.
        case es384 = "ES384"
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
    }

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience to request: the server that gets the token.
    ///   - credentials: The source of the role's credentials.
    ///   - algorithm: The algorithm of the signature. The default is ES384.
    ///   - lifetime: The validity of a token, from one minute through an hour. The default is five
    ///     minutes.
    ///   - region: The region of the service. The default is `AWS_REGION` or `AWS_DEFAULT_REGION`.
    ///   - environment: The variables, clocks and network.
    public init(
        audience: String,
        credentials: AWSCredentialSource,
        algorithm: SigningAlgorithm = .es384,
        lifetime: Duration = .seconds(300),
        region: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.audience = audience
        self.credentials = credentials
        self.algorithm = algorithm
        self.lifetime = lifetime
        self.region = region
        self.environment = environment
    }

    /// Requests a token.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if the region is missing,
    ///   `wrongAudience` for a token with another audience; the errors of each request
    ///   (``WorkloadEnvironment``) and of the credentials' source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let service = try AWSSecurityTokenService(region: region, environment)
        let (_, document, endpoint) = try await service.send(
            "GetWebIdentityToken",
            [
                ("Audience.member.1", audience), ("SigningAlgorithm", algorithm.rawValue),
                ("DurationSeconds", String(lifetime.components.seconds)),
            ],
            signedWith: credentials,
            until: requirements.deadline
        )
        guard let token = document["GetWebIdentityTokenResponse/GetWebIdentityTokenResult/WebIdentityToken"] else {
            throw endpoint.invalid("didn't respond with a token; check what answers at its address")
        }
        return try endpoint.jwt(in: token.utf8, audience: audience, for: requirements)
    }
}
