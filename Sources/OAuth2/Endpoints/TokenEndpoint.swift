import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// Asks a token endpoint for tokens.
struct TokenEndpoint: Sendable {
    let server: AuthorizationServer
    let clientAuthentication: any ClientAuthentication
    let client: NetworkClient

    /// Sends one request and reads the answer.
    ///
    /// - Parameter form: What the grant asks for.
    /// - Returns: The tokens.
    /// - Throws: ``OAuth2Error``.
    func requestToken(form: [(name: String, value: String)]) async throws -> TokenResponse {
        try server.tokenEndpoint.requireConfidentiality("the client's credential")
        var request = TokenRequest(server: server, form: form)
        try await clientAuthentication.authenticate(&request, at: client.options.timeSource.date())
        let requested = client.options.timeSource.now()
        let body: Data
        do {
            body = try await client.makeRequest(request.urlRequest)
        } catch let error as ServerError {
            throw Self.error(from: error)
        } catch let error as NetworkError where error.code != .cancelled {
            throw OAuth2Error(.serverUnreachable, "the token endpoint could not be asked", cause: error)
        }
        return try TokenResponse(parsing: body, requested: requested)
    }

    private static func error(from error: ServerError) -> OAuth2Error {
        let body = error.response.flatMap { try? JSONObject(parsing: $0) }
        if let serverCode = body?["error"]?.string {
            return OAuth2Error(serverCode: serverCode, description: body?["error_description"], status: error.errorCode)
        }
        if error.errorCode >= 500 || error.errorCode == 429 {
            return OAuth2Error(
                .serverTransient,
                "the token endpoint has failed for the moment",
                status: error.errorCode,
                cause: error
            )
        }
        return OAuth2Error(
            .protocolViolation,
            "the token endpoint answered \(error.errorCode) without an OAuth 2 error; check the endpoint's URL",
            status: error.errorCode,
            cause: error
        )
    }
}

extension URL {
    /// Checks that what is sent here is encrypted, or never leaves the machine.
    ///
    /// - Parameter what: What is about to be sent, for the error's text.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`.
    func requireConfidentiality(_ what: String) throws(OAuth2Error) {
        guard scheme?.lowercased() != "https", !isLoopback else { return }
        throw OAuth2Error(.insecureTransport, "\(what) is sent only over https; \(host ?? "the URL") is not")
    }

    private var isLoopback: Bool {
        guard let host = host?.lowercased() else { return false }
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }
}
