/// An authorization server that is known, or that a discovery finds when it is first needed.
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
    /// - Throws: ``OAuth2Error`` as ``AuthorizationServerDiscovery/server()`` does. Its code never says anything about the grant
    ///   or the client, of which the discovery sends nothing.
    func server() async throws(OAuth2Error) -> AuthorizationServer {
        switch self {
        case .known(let server): return server
        case .discovered(let discovery):
            do { return try await discovery.server() } catch let error as OAuth2Error {
                throw error.serverCode == nil || error.isRetryable ? error : error.coded(.protocolViolation)
            } catch {
                throw OAuth2Error(.serverUnreachable, "the server's metadata could not be read", cause: error)
            }
        }
    }
}
