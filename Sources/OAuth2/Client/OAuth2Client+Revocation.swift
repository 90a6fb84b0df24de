import Networking

extension OAuth2Client {
    /// Revokes a token.
    ///
    /// Revoking a refresh token may also revoke the access tokens issued with it
    /// ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)).
    ///
    /// Revoking a token that the server doesn't know isn't an error.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - kind: The kind of the token. The default, `nil`, sends no hint.
    /// - Throws: The errors of each request of an ``OAuth2Client``; `requestRejected` has the
    ///   server's code `unsupported_token_type` if it can't revoke tokens of that kind.
    public func revoke(_ token: Secret, kind: TokenKind? = nil) async throws {
        let place = "the revocation endpoint"
        let form = token.expose { [("token", $0)] } + (kind.map { [("token_type_hint", $0.name)] } ?? [])
        try await post(form, to: \.revocationEndpoint, place: place) { response, _ in
            // Only the status code matters; the body has no meaning (§2.2).
            guard response.status == 200 || response.status == 204 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "\(place) responded with status \(response.status) instead of 200; check the endpoint's URL",
                    status: response.status
                )
            }
        }
    }
}
