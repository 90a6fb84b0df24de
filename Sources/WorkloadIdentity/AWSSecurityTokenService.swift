import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// Requests to AWS's Security Token Service
/// ([AWS](https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html)).
struct AWSSecurityTokenService: Sendable {
    /// The variables with an endpoint instead of AWS's.
    private static let variables = ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"]
    private static let transientCodes: Set<String> = [
        "IDPCommunicationError", "RequestLimitExceeded", "ServiceUnavailable", "Throttling", "ThrottlingException",
    ]
    private static let expiryCodes: Set<String> = ["ExpiredToken", "ExpiredTokenException", "InvalidIdentityToken"]
    /// What the names of errors mean; others aren't shown.
    private static let advice = [
        "AccessDenied": "check the trust policy of the role, and the permission of the caller",
        "ExpiredToken": "the token or the credentials have expired; check the clock of this machine",
        "ExpiredTokenException": "the token or the credentials have expired; check the clock of this machine",
        "IDPRejectedClaim": "the identity provider rejects the token; check its audience",
        "InvalidClientTokenId": "the access key doesn't exist; check the credentials and the account",
        "InvalidIdentityToken": "the token isn't valid here; check that IAM has its issuer, and its audience",
        "OutboundWebIdentityFederationDisabled":
            "run “aws iam enable-outbound-web-identity-federation” in the account",
        "OutboundWebIdentityFederationDisabledException":
            "run “aws iam enable-outbound-web-identity-federation” in the account",
        "RegionDisabledException": "the service is disabled in the region; enable it, or use another region",
        "SessionDurationEscalationException": "the token would be valid for longer than the credentials; shorten it",
        "SignatureDoesNotMatch": "check the secret key and the clock of this machine",
        "ValidationError": "check the role, the name of the session and the duration",
    ]

    let region: String
    let environment: WorkloadEnvironment

    /// The region is the given one, that of the environment or of a profile.
    init(
        region: String?,
        profile: String? = nil,
        _ environment: WorkloadEnvironment
    ) throws(WorkloadIdentityError) {
        self.environment = environment
        let names = ["AWS_REGION", "AWS_DEFAULT_REGION"]
        let variable = names.lazy.compactMap { environment.variable($0) }.first { !$0.isEmpty }
        guard let region = region ?? variable ?? profile else {
            throw WorkloadIdentityError(.notConfigured, "no region of AWS is known; set AWS_REGION, or pass the region")
        }
        guard !region.isEmpty, region.utf8.allSatisfy({ AWSCanonical.isNameCharacter($0) && $0 != UInt8(ascii: ".") })
        else { throw WorkloadIdentityError(.invalidConfiguration, "the region of AWS isn't a name; check AWS_REGION") }
        self.region = region
    }

    /// The parameters of a role that is assumed.
    struct Role: Sendable {
        let role: String
        let sessionName: String?
        var externalID: String?
        let duration: Duration?
    }

    func credentials(
        of role: Role,
        with source: AWSCredentialSource,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AWSCredentials {
        var parameters = try parameters(of: role)
        if let externalID = role.externalID { parameters.append(("ExternalId", externalID)) }
        return try await credentials("AssumeRole", parameters, signedWith: source, until: deadline)
    }

    /// If AWS says that the token isn't valid any more, another one is tried, if there is one.
    func credentials(
        of role: Role,
        for source: any TokenSource,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AWSCredentials {
        let parameters = try parameters(of: role)
        let request = { (token: AccessToken) in
            let identity = ("WebIdentityToken", token.value.expose { $0 })
            return try await credentials("AssumeRoleWithWebIdentity", parameters + [identity], until: deadline)
        }
        let token = try await source.token(for: TokenRequirements(deadline: deadline))
        do {
            return try await request(token)
        } catch let error as WorkloadIdentityError where error.code == .expiredToken {
            guard let other = try await source.replacement(for: token, until: deadline) else { throw error }
            return try await request(other)
        }
    }

    func send(
        _ action: String,
        _ parameters: [(name: String, value: String)],
        signedWith source: AWSCredentialSource? = nil,
        until deadline: ContinuousClock.Instant?
    ) async throws -> (response: HTTPResponse, document: AWSXML, endpoint: PlatformEndpoint) {
        var request = URLRequest(url: try url)
        request.httpMethod = "POST"
        request.setValue("\(FormURLEncoded.contentType); charset=utf-8", forHTTPHeaderField: "Content-Type")
        let form = [("Action", action), ("Version", "2011-06-15")] + parameters
        request.httpBody = Data(FormURLEncoded.encode(form).utf8)
        var endpoint = PlatformEndpoint(name: "AWS STS", environment: environment) { Self.explanation($0) }
        endpoint.retries.isTransientError = { AWSErrorCode.name(in: $0).map(Self.transientCodes.contains) ?? false }
        if let source {
            endpoint.interceptors = [
                AWSRequestSigner(
                    service: "sts",
                    region: region,
                    credentials: source,
                    timeSource: environment.timeSource
                )
            ]
        }
        let response = try await endpoint.response(to: request, until: deadline)
        guard let document = AWSXML(response.body) else {
            throw endpoint.invalid("didn't respond with XML; check what answers at its address")
        }
        return (response, document, endpoint)
    }

    private func credentials(
        _ action: String,
        _ parameters: [(name: String, value: String)],
        signedWith source: AWSCredentialSource? = nil,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AWSCredentials {
        let (response, document, endpoint) = try await send(action, parameters, signedWith: source, until: deadline)
        let path = "\(action)Response/\(action)Result/Credentials"
        return try endpoint.awsCredentials(in: response) { name in
            document["\(path)/\(name == "Token" ? "SessionToken" : name)"]
        }
    }

    private func parameters(of role: Role) throws(WorkloadIdentityError) -> [(name: String, value: String)] {
        guard role.role.utf8.starts(with: "arn:".utf8), role.role.utf8.count <= 2_048 else {
            throw WorkloadIdentityError(
                .invalidConfiguration,
                "the role isn't an ARN, such as arn:aws:iam::1:role/name"
            )
        }
        let given = role.sessionName ?? environment.variable("AWS_ROLE_SESSION_NAME").flatMap { $0.isEmpty ? nil : $0 }
        let session = given ?? "session-\(Int(clamping: environment.timeSource.date().timeIntervalSince1970))"
        guard (2...64).contains(session.utf8.count), session.utf8.allSatisfy(Self.isSessionCharacter) else {
            throw WorkloadIdentityError(
                .invalidConfiguration,
                "the name of a role's session has 2 to 64 letters, digits and characters of “+=,.@-_”; change it"
            )
        }
        var parameters = [("RoleArn", role.role), ("RoleSessionName", session)]
        if let duration = role.duration { parameters.append(("DurationSeconds", String(duration.components.seconds))) }
        return parameters
    }

    private static func isSessionCharacter(_ byte: UInt8) -> Bool {
        AWSCanonical.isNameCharacter(byte) || "+=,@".utf8.contains(byte)
    }

    private var url: URL {
        get throws(WorkloadIdentityError) {
            for name in Self.variables {
                guard let address = environment.variable(name), !address.isEmpty else { continue }
                guard let url = URL(string: address), PlatformAddress.isConfined(url) else {
                    throw WorkloadIdentityError(
                        .insecureEndpoint,
                        "\(name) is neither an https URL nor an address of this machine, so nothing is sent; change it"
                    )
                }
                return url.path.isEmpty ? url.appending(path: "/") : url
            }
            guard let url = URL(string: "https://sts.\(region).\(domain)/") else {
                throw WorkloadIdentityError(.invalidConfiguration, "the region of AWS isn't a name; check AWS_REGION")
            }
            return url
        }
    }

    /// The domain of the region's partition.
    private var domain: String {
        let domains = [
            "cn-": "amazonaws.com.cn", "us-iso-": "c2s.ic.gov", "us-isob-": "sc2s.sgov.gov",
            "us-isof-": "csp.hci.ic.gov", "eu-isoe-": "cloud.adc-e.uk", "eusc-": "amazonaws.eu",
        ]
        return domains.first { region.hasPrefix($0.key) }?.value ?? "amazonaws.com"
    }

    private static func explanation(_ error: ServerError) -> WorkloadIdentityError? {
        guard let code = AWSErrorCode.name(in: error) else { return nil }
        if transientCodes.contains(code) {
            return WorkloadIdentityError(
                request: .platformUnavailable,
                "AWS STS keeps failing with \(code); try again later",
                status: error.errorCode
            )
        }
        return advice[code].map { advice in
            WorkloadIdentityError(
                request: expiryCodes.contains(code) ? .expiredToken : .platformRejected,
                "AWS STS rejects the request with \(code): \(advice)",
                status: error.errorCode
            )
        }
    }
}

extension PlatformEndpoint {
    /// Returns temporary credentials, whose expiry the response states.
    func awsCredentials(
        in response: HTTPResponse,
        _ value: (String) -> String?
    ) throws(WorkloadIdentityError) -> AWSCredentials {
        guard let accessKeyID = value("AccessKeyId"), let secret = value("SecretAccessKey"), let token = value("Token")
        else { throw invalid("didn't respond with temporary credentials; check what answers at its address") }
        guard let expiration = value("Expiration"), let date = Self.timestamp(expiration) else {
            throw invalid("responded with credentials without a valid expiry, which aren't used")
        }
        let expiry = expiry(date, in: response)
        guard expiry > environment.timeSource.now() else {
            throw WorkloadIdentityError(
                request: .expiredToken,
                "\(name) responded with credentials that have expired; try again later"
            )
        }
        let credentials = AWSCredentials(
            accessKeyID: accessKeyID,
            secretAccessKey: Secret(secret),
            sessionToken: Secret(token),
            expiry: expiry
        )
        guard (try? credentials.token(requested: expiry)) != nil else {
            throw invalid("responded with credentials that have invalid characters")
        }
        return credentials
    }
}

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
    ///   - externalID: The ID that the role of another account requires. The default is none.
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
