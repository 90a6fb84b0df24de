import Foundation
import FoundationNetworking
import Networking
public import OAuth2

/// A token source for the access tokens of a Google Cloud machine's service account
/// ([Google](https://cloud.google.com/compute/docs/access/authenticate-workloads)).
///
/// ```swift
/// let source = CachedTokenSource(GoogleMetadataSource())
/// ```
///
/// It works on Compute Engine, in Google Kubernetes Engine, Cloud Run and Cloud Functions. The
/// metadata server returns the same token until some minutes before its expiry.
public struct GoogleMetadataSource: TokenSource {
    private let scopes: [String]
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - scopes: The requested scopes, such as `https://www.googleapis.com/auth/cloud-platform`.
    ///     By default, the token has those that the machine was created with.
    ///   - environment: The variables, clocks and network. `GCE_METADATA_HOST` replaces the
    ///     server's host.
    public init(scopes: [String] = [], environment: WorkloadEnvironment = WorkloadEnvironment()) {
        self.scopes = scopes
        self.environment = environment
    }

    /// Requests a token, which has the expiry that the server states.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured` if the machine has no service account.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let requested = environment.timeSource.now()
        let (response, endpoint) = try await GoogleMetadataServer(environment: environment).response(
            for: "token",
            scopes.isEmpty ? [] : [("scopes", scopes.joined(separator: ","))],
            until: requirements.deadline
        )
        return try endpoint.accessToken(in: response, requested: requested, for: requirements)
    }
}

/// A token source for the identity tokens of a Google Cloud machine's service account
/// ([Google](https://cloud.google.com/compute/docs/instances/verifying-instance-identity)).
///
/// ```swift
/// let source = GoogleIdentityTokenSource(audience: "https://as.example")
/// ```
///
/// The token is a JWT of Google, valid for an hour, which other parties can verify. Use it as a
/// client assertion or as the subject of a token exchange. For a service that accepts it in
/// requests, such as Cloud Run, pass the type `accessToken` and wrap the source in a
/// `CachedTokenSource`.
public struct GoogleIdentityTokenSource: TokenSource {
    private let audience: String
    private let type: String
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience to request: the server or service that gets the token.
    ///   - type: The type of the token. The default is an ID token. A token of the type
    ///     `accessToken` can be sent in requests; others are only for token requests.
    ///   - environment: The variables, clocks and network. `GCE_METADATA_HOST` replaces the
    ///     server's host.
    public init(
        audience: String,
        type: TokenType = .idToken,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.audience = audience
        self.type = type == .accessToken ? AccessToken.bearer : AccessToken.notApplicable
        self.environment = environment
    }

    /// Requests a token.
    ///
    /// - Throws: The errors of ``GoogleMetadataSource/token(for:)``, and ``WorkloadIdentityError``
    ///   with the code `wrongAudience`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let (response, endpoint) = try await GoogleMetadataServer(environment: environment).response(
            for: "identity",
            [("audience", audience), ("format", "full"), ("licenses", "FALSE")],
            until: requirements.deadline
        )
        return try endpoint.jwt(in: response.body, type: type, audience: audience, for: requirements)
    }
}

struct GoogleMetadataServer: Sendable {
    private static let flavor = "Metadata-Flavor"
    private static let variables = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT"]

    let environment: WorkloadEnvironment

    /// Requests `token` or `identity`; the response has the server's own header field.
    func response(
        for name: String,
        _ parameters: [(name: String, value: String)],
        until deadline: ContinuousClock.Instant?
    ) async throws -> (response: HTTPResponse, endpoint: PlatformEndpoint) {
        let path = "/computeMetadata/v1/instance/service-accounts/default/\(name)"
        let address = "http://\(try host)\(path)"
        guard let url = parameters.isEmpty ? URL(string: address) : PlatformAddress.url(address, parameters) else {
            throw Self.invalidHost("GCE_METADATA_HOST")
        }
        var request = URLRequest(url: url)
        request.setValue("Google", forHTTPHeaderField: Self.flavor)
        let endpoint = PlatformEndpoint(name: "Google's metadata server", environment: environment) {
            Self.explanation($0)
        }
        let response = try await endpoint.response(to: request, until: deadline)
        guard response.headers[Self.flavor] == "Google" else { throw Self.otherServer(response.status) }
        return (response, endpoint)
    }

    private var host: String {
        get throws(WorkloadIdentityError) {
            for variable in Self.variables {
                guard let value = environment.variable(variable), !value.isEmpty else { continue }
                let isHost = value.utf8.allSatisfy {
                    PercentEncoding.isUnreserved($0) && !"_~".utf8.contains($0) || ":[]".utf8.contains($0)
                }
                guard isHost, let url = URL(string: "http://\(value)/"), HTTPOrigin(url) != nil else {
                    throw Self.invalidHost(variable)
                }
                return value
            }
            return "metadata.google.internal"
        }
    }

    private static func invalidHost(_ variable: String) -> WorkloadIdentityError {
        WorkloadIdentityError(
            .insecureEndpoint,
            "\(variable) isn't a host or a host with a port, such as 127.0.0.1:8080; set it, or unset it in Google Cloud"
        )
    }

    private static func explanation(_ error: ServerError) -> WorkloadIdentityError? {
        guard (400..<500).contains(error.errorCode), ![408, 429].contains(error.errorCode) else { return nil }
        guard error.headers[flavor] == "Google" else { return otherServer(error.errorCode) }
        guard error.errorCode == 404 else { return nil }
        return WorkloadIdentityError(
            request: .notConfigured,
            """
            the machine has no service account; attach one, for example with “gcloud compute instances \
            set-service-account”
            """,
            status: 404
        )
    }

    private static func otherServer(_ status: Int) -> WorkloadIdentityError {
        WorkloadIdentityError(
            request: .invalidResponse,
            """
            the response isn't from Google's metadata server: it has no “Metadata-Flavor: Google”; check what answers \
            at its address
            """,
            status: status
        )
    }
}
