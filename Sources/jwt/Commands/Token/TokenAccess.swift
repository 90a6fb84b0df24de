import Networking
import OAuth2

/// The way to a token: what is kept will do if it lasts, and otherwise the server is asked.
struct TokenAccess: Sendable {
    /// Who the token's subject is, without secrets.
    let identifier: String
    private let server: ServerOptions
    private let makeAuthenticator: @Sendable () -> OAuth2Authenticator
    private let grantSource: GrantTokenSource
    private let leastLifetime: Duration
    private let console: Console

    init(
        server: ServerOptions,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        store: any TokenStore,
        dpop: DPoPKey?,
        client: NetworkClient,
        leastLifetime: Duration,
        console: Console
    ) {
        self.server = server
        self.leastLifetime = leastLifetime
        self.console = console
        identifier = [server.server.issuer, clientAuthentication.clientID, grant.identifier].joined(separator: " ")
        grantSource = GrantTokenSource(
            server: server.server,
            clientAuthentication: clientAuthentication,
            grant: grant,
            store: store,
            dpop: dpop,
            client: client,
            options: GrantTokenSource.Options(timeout: server.timeout)
        )
        makeAuthenticator = {
            OAuth2Authenticator(
                server: server.server,
                clientAuthentication: clientAuthentication,
                grant: grant,
                store: store,
                dpop: dpop,
                client: client
            )
        }
    }

    /// A source that uses what is kept while it lasts long enough.
    var source: LastingTokenSource {
        LastingTokenSource(grantSource, leastLifetime: leastLifetime) { [console, server] in
            console.warn(
                "\(server.name): no new token, so the kept one is used, which is about to expire: \($0.message)"
            )
        }
    }

    /// Gets a token.
    ///
    /// - Parameter isForced: Whether a kept one won't do.
    /// - Returns: The token.
    /// - Throws: ``CommandFailure``.
    func token(isForced: Bool) throws(CommandFailure) -> AccessToken {
        try failing { [source] in
            let token = try await source.token()
            guard isForced, token.isFound else { return token }
            return try await source.token(for: .replacing(token))
        }
    }

    /// Drops the tokens that are kept.
    ///
    /// - Throws: ``CommandFailure``.
    func signOut() throws(CommandFailure) {
        try failing { [makeAuthenticator] in try await makeAuthenticator().signOut() }
    }

    private func failing<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try AsynchronousWork.result(body)
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as OAuth2Error {
            throw CommandFailure(error, at: server.name)
        } catch {
            throw CommandFailure(.failed, "\(server.name): \(error)", cause: error)
        }
    }
}

extension CommandFailure {
    /// What getting a token failed for.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - name: How messages call the token endpoint.
    init(_ error: OAuth2Error, at name: String) {
        let refusals: Set<OAuth2Error.Code> = [
            .requestRejected, .invalidClient, .reauthenticationRequired, .proofRejected, .missingNonce, .repeatedNonce,
            .tooManyNonces, .freshTokenRejected, .insufficientScope, .stepUpRequired,
        ]
        var message = error.message
        var advice = ""
        let code = error.serverCode.map { " [\($0)]" } ?? ""
        switch error.code {
        case .reauthenticationRequired:
            message = "the refresh token is not accepted (any more)"
            if error.isPossiblyLostRotation { message += "; an earlier answer, which was lost, may have replaced it" }
            advice = "; get a new one and put it into the place of the old one"
        case .storeFailed, .storeBusy, .storeDamaged, .storeTooNew:
            advice = "; --cache-dir FOLDER names another place"
        case .serverUnreachable:
            if let cause = error.cause as? NetworkError { message += ": \(cause.message)" }
            if (error.cause as? NetworkError)?.tlsFailure == .untrustedChain {
                advice = "; to name its root: --roots FILE"
            }
        case .unsupportedTokenType: advice = "; --dpop has tokens bound to a key"
        default: break
        }
        self.init(
            refusals.contains(error.code) ? .rejected : .failed,
            "\(name): \(message)\(code)\(advice)",
            cause: error
        )
    }
}
