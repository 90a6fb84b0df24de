import Foundation
import FoundationNetworking
import Networking

/// The metadata server of a Google Cloud machine, for its service account's tokens.
struct GoogleMetadataServer: Sendable {
    private static let flavor = "Metadata-Flavor"
    private static let variables = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT"]

    let environment: WorkloadEnvironment

    /// Requests `token` or `identity`, and returns the response, which has the server's own header
    /// field, and the endpoint.
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

    /// The host and port, which the environment can change.
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
