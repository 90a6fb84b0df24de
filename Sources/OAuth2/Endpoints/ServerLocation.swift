/// An authorization server that is known, or that a discovery loads when it's first needed.
enum ServerLocation: Sendable {
    case known(AuthorizationServer)
    case discovered(AuthorizationServerDiscovery)

    var issuer: String {
        switch self {
        case .known(let server): server.issuer
        case .discovered(let discovery): discovery.issuer
        }
    }

    /// Returns the server.
    ///
    /// - Throws: The ``OAuth2Error`` of ``AuthorizationServerDiscovery/server()``. Its code is
    ///   never about the grant or the client, because the discovery sends neither.
    func server() async throws(OAuth2Error) -> AuthorizationServer {
        switch self {
        case .known(let server): return server
        case .discovered(let discovery):
            do { return try await discovery.server() } catch let error as OAuth2Error {
                throw error.serverCode == nil || error.isRetryable ? error : error.coded(.protocolViolation)
            } catch {
                throw OAuth2Error(.serverUnreachable, "the server metadata can't be loaded", cause: error)
            }
        }
    }
}
