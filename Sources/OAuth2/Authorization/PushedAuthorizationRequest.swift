public import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

extension OAuth2Client {
    /// Sends an authorization request directly to the server, so that the user can't read or change
    /// it ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)).
    ///
    /// Send the user to the URL of the result.
    ///
    /// - Parameter request: The request.
    /// - Returns: A reference to the request.
    /// - Throws: The errors of ``push(parameters:)``.
    public func push(_ request: AuthorizationRequest) async throws -> PushedAuthorizationRequest {
        try await push(parameters: request.parameters)
    }

    /// Sends the parameters of a request, such as a ``SignedAuthorizationRequest``, to the server.
    ///
    /// - Parameter parameters: The parameters. The client adds `client_id` if it's missing.
    /// - Returns: A reference to the request.
    /// - Throws: ``OAuth2Error``: `malformedRequest` for parameters of another client, or with a
    ///   `request_uri` ([§2.1](https://www.rfc-editor.org/rfc/rfc9126#section-2.1)); the errors of
    ///   each request of an ``OAuth2Client``.
    public func push(parameters: [(name: String, value: String)]) async throws -> PushedAuthorizationRequest {
        let place = "the pushed authorization request endpoint"
        let clientID = clientAuthentication.clientID
        guard parameters.allSatisfy({ $0.name != "client_id" || $0.value == clientID }) else {
            throw OAuth2Error(
                .malformedRequest,
                "the authorization request has another client's ID"
            )
        }
        guard parameters.allSatisfy({ $0.name != "request_uri" }) else {
            throw OAuth2Error(.malformedRequest, "a pushed request can't be pushed again (RFC 9126 §2.1)")
        }
        let form = [("client_id", clientID)] + parameters.filter { $0.name != "client_id" }
        let pushed = timing.timeSource.now()
        return try await post(form, to: \.pushedAuthorizationRequestEndpoint, place: place) { response, secrets in
            let answer = try AnswerMembers(response, from: place, hiding: secrets)
            let uri = try answer.required("request_uri")
            guard uri.utf8.count <= 8_192, HTTPSyntax.isFieldValue(uri) else { throw answer.wrong("request_uri") }
            guard let seconds = try answer.seconds("expires_in"), seconds > 0 else { throw answer.wrong("expires_in") }
            return PushedAuthorizationRequest(
                requestURI: uri,
                clientID: clientID,
                expiry: pushed + Duration(clampingSeconds: seconds)
            )
        }
    }
}

/// A reference to a pushed authorization request, for one use.
public struct PushedAuthorizationRequest: Sendable, Hashable {
    /// The reference: `request_uri`.
    public let requestURI: String
    /// The client's identifier.
    public let clientID: String
    /// The time when the reference expires, after which the server rejects it.
    public let expiry: ContinuousClock.Instant

    /// Creates a reference from stored values.
    ///
    /// - Parameters:
    ///   - requestURI: The reference: `request_uri`.
    ///   - clientID: The client's identifier.
    ///   - expiry: The time when the reference expires.
    public init(requestURI: String, clientID: String, expiry: ContinuousClock.Instant) {
        self.requestURI = requestURI
        self.clientID = clientID
        self.expiry = expiry
    }

    /// Returns the URL to open in the user's browser
    /// ([RFC 9126 §4](https://www.rfc-editor.org/rfc/rfc9126#section-4)).
    ///
    /// - Parameter server: The server that has the request.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no authorization
    ///   endpoint, or `insecureTransport` if the endpoint is neither `https` nor on this machine.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try AuthorizationRequest.url(
            at: server,
            parameters: [("client_id", clientID), ("request_uri", requestURI)]
        )
    }
}
