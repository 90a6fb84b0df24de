import Networking

extension OAuth2Client {
    /// Gives a token back: nobody can use it any more, nor, after a refresh token, what came of it
    /// ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)).
    ///
    /// A token that the server does not know is no error: what was wanted is so.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - kind: What kind of token it is; `nil` for no hint.
    /// - Throws: ``OAuth2Error``: `endpointMissing`, `insecureTransport`, `invalidClient`, `requestRejected` (with the server's code
    ///   `unsupported_token_type` where it can't revoke tokens of that kind), `serverTransient`, `serverUnreachable`, or
    ///   `protocolViolation`; `NetworkError` with the code `cancelled`, or `CancellationError`, if the caller is cancelled.
    public func revoke(_ token: Secret, kind: TokenKind? = nil) async throws {
        let place = "the revocation endpoint"
        let form = token.expose { [("token", $0)] } + (kind.map { [("token_type_hint", $0.name)] } ?? [])
        try await post(form, to: server.revocationEndpoint, place: place) { response, _ in
            // The body means nothing (§2.2), the status everything.
            guard response.status == 200 || response.status == 204 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "\(place) answered \(response.status) instead of 200; check the endpoint's URL",
                    status: response.status
                )
            }
        }
    }
}
