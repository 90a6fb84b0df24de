import Foundation
import FoundationNetworking
import Networking
import OAuth2
import OpenSSLCrypto

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
    /// Returns temporary credentials, whose expiry the response states and which may have expired.
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
