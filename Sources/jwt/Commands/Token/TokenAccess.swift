import Networking
import OAuth2

/// The way to a token: what is kept will do if it lasts, and otherwise the server is asked.
struct TokenAccess: Sendable {
    /// Who the token's subject is, without secrets.
    let identifier: String
    /// How somebody signs in, if that is what it takes.
    let signIn: SignIn?
    /// What asks the authorization server, and may ask the API; both are shown the client's certificate, if it has one.
    let transport: CurlTransport
    private let name: String
    private let makeAuthenticator: @Sendable () -> OAuth2Authenticator
    private let grantSource: GrantTokenSource
    private let asking: OAuth2Client
    private let network: NetworkClient
    private let store: any TokenStore
    private let leastLifetime: Duration
    private let console: Console

    init(
        _ options: ServerOptions,
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        signIn: SignIn?,
        store: any TokenStore,
        dpop: DPoPKey?,
        transport: CurlTransport,
        client: NetworkClient,
        leastLifetime: Duration,
        console: Console
    ) {
        name = options.name
        self.signIn = signIn
        self.transport = transport
        network = client
        self.store = store
        self.leastLifetime = leastLifetime
        self.console = console
        identifier = [server.issuer, clientAuthentication.clientID, grant.identifier].joined(separator: " ")
        grantSource = GrantTokenSource(
            server: server,
            clientAuthentication: clientAuthentication,
            grant: grant,
            store: store,
            dpop: dpop,
            client: client,
            timing: OAuth2Timing(timeout: options.timeout)
        )
        asking = OAuth2Client(
            server: server,
            clientAuthentication: clientAuthentication,
            dpop: dpop,
            client: client,
            timing: OAuth2Timing(timeout: options.timeout)
        )
        makeAuthenticator = {
            OAuth2Authenticator(
                server: server,
                clientAuthentication: clientAuthentication,
                grant: grant,
                resources: .everyHTTPSOrigin,
                store: store,
                dpop: dpop,
                client: client
            )
        }
    }

    /// A source that uses what is kept while it lasts long enough.
    var source: LastingTokenSource {
        LastingTokenSource(grantSource, leastLifetime: leastLifetime) { [console, name] in
            console.warn(
                "\(name): no new token, so the kept one is used, which is about to expire: \($0.message)"
            )
        }
    }

    /// Gets a token.
    ///
    /// - Parameters:
    ///   - isForced: Whether a kept one won't do.
    ///   - asksUser: Whether somebody is there who can sign in.
    /// - Returns: The token.
    /// - Throws: ``CommandFailure``.
    func token(isForced: Bool, asksUser: Bool) throws(CommandFailure) -> AccessToken {
        try failing { [self] in
            var need = TokenRequirements()
            do {
                let token = try await source.token()
                guard isForced, token.isFound else { return token }
                need = .replacing(token)
                return try await source.token(for: need)
            } catch let error as OAuth2Error where error.code == .reauthenticationRequired {
                guard let signIn else { throw error }
                guard asksUser else { throw Self.nobody(error) }
                return try await token(signIn, unlessKeptFor: need)
            }
        }
    }

    /// Has somebody sign in.
    ///
    /// - Returns: Their token.
    /// - Throws: ``CommandFailure``.
    func signedIn() throws(CommandFailure) -> AccessToken {
        try failing { [self] in
            guard let signIn else { throw CommandFailure(.failed, "nobody has to sign in for this grant") }
            return try await token(signIn, unlessKeptFor: nil)
        }
    }

    /// Somebody signs in once, however many processes wait for that.
    ///
    /// - Parameters:
    ///   - signIn: How they do.
    ///   - need: What a token has to be like that another process has got meanwhile; `nil` if none will do.
    /// - Returns: Their token.
    /// - Throws: `OAuth2Error`.
    private func token(_ signIn: SignIn, unlessKeptFor need: TokenRequirements?) async throws -> AccessToken {
        try await store.withExclusiveAccess(to: "sign-in " + identifier, timeout: SignIn.queueTimeout) {
            if let need {
                do {
                    return try await source.token(for: need)
                } catch let error as OAuth2Error where error.code == .reauthenticationRequired {}
            }
            let tokens = try await signIn.tokens(asking, network, console)
            try await makeAuthenticator().signIn(with: tokens)
            return tokens.accessToken
        }
    }

    private static func nobody(_ error: OAuth2Error) -> CommandFailure {
        CommandFailure(
            .rejected,
            "nobody is signed in, and nobody is at a terminal to do it; jwt token --sign-in, with the same options, does",
            cause: error
        )
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
            throw CommandFailure(error, at: name)
        } catch {
            throw CommandFailure(.failed, "\(name): \(error)", cause: error)
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
            .tooManyNonces, .freshTokenRejected, .insufficientScope, .stepUpRequired, .authorizationDenied,
            .authorizationExpired, .stateMismatch, .issuerMismatch,
        ]
        var message = error.message
        var advice = ""
        let code = error.serverCode.map { " [\($0)]" } ?? ""
        switch error.code {
        case .reauthenticationRequired where error.serverCode == nil && error.status == nil:
            // Whose own token is asked for has been told otherwise.
            message = "nobody has signed in for the token to exchange"
            advice = "; jwt token --sign-in --profile NAME, with the name of --subject-profile, does"
        case .reauthenticationRequired:
            message = "the refresh token is not accepted (any more)"
            if error.isPossiblyLostRotation { message += "; an earlier answer, which was lost, may have replaced it" }
            advice = "; get a new one and put it into the place of the old one"
        case .storeFailed, .storeBusy, .storeUnavailable, .storeDamaged, .storeTooNew:
            advice = "; --cache-dir FOLDER names another place"
        case .serverUnreachable:
            if let cause = error.cause as? NetworkError { message += ": \(cause.message)" }
            if (error.cause as? NetworkError)?.tlsFailure == .untrustedChain {
                advice = "; to name its root: --roots FILE"
            }
        case .endpointMissing:
            message = String(error.message.prefix { $0 != ";" })
            advice = "; --issuer ISSUER looks it up, --device-endpoint URL or --authorization-endpoint URL names it"
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
