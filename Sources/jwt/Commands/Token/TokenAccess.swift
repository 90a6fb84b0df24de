import Networking
import OAuth2
import WorkloadIdentity

struct TokenAccess: Sendable {
    /// The server, client and grant, without secrets.
    let identifier: String
    let signIn: SignIn?
    /// The transport for the authorization server and the API, with the client certificate, if any.
    let transport: CurlTransport
    private let name: String
    private let makeAuthenticator: @Sendable () -> OAuth2Authenticator
    private let grantSource: GrantTokenSource
    private let asking: OAuth2Client
    private let network: NetworkClient
    private let store: any TokenStore
    private let timeout: Duration
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
        let timing = OAuth2Timing(timeout: options.timeout)
        timeout = options.timeout
        identifier = [server.issuer, clientAuthentication.clientID, grant.identifier].joined(separator: " ")
        let client = OAuth2Client(
            server: server,
            clientAuthentication: clientAuthentication,
            dpop: dpop,
            client: client,
            timing: timing
        )
        asking = client
        grantSource = GrantTokenSource(client: client, grant: grant, store: store)
        makeAuthenticator = {
            OAuth2Authenticator(client: client, grant: grant, resources: .everyHTTPSOrigin, store: store)
        }
    }

    var source: LastingTokenSource {
        LastingTokenSource(source: grantSource, leastLifetime: leastLifetime) { [console, name] in
            console.warn(
                "\(name): can't get a new token, so the cached one, which expires soon, is used: \($0.message)"
            )
        }
    }

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
                guard asksUser else {
                    let message = "not signed in; run jwt token --sign-in with the same options in a terminal"
                    throw CommandFailure(.rejected, message, cause: error)
                }
                return try await token(signIn, unlessKeptFor: need)
            }
        }
    }

    func signedIn() throws(CommandFailure) -> AccessToken {
        try failing { [self] in
            guard let signIn else { throw CommandFailure(.failed, "this grant doesn't require signing in") }
            return try await token(signIn, unlessKeptFor: nil)
        }
    }

    /// Asks the user to sign in once, even if several processes wait for a sign-in, unless another
    /// process has stored a token that meets the requirements.
    private func token(_ signIn: SignIn, unlessKeptFor need: TokenRequirements?) async throws -> AccessToken {
        try await store.withExclusiveAccess(to: "sign-in " + identifier, timeout: SignIn.queueTimeout) {
            if let need {
                do {
                    return try await source.token(for: need)
                } catch let error as OAuth2Error where error.code == .reauthenticationRequired {}
            }
            let tokens = try await signIn.tokens(asking, network, timeout: timeout, console)
            try await makeAuthenticator().signIn(with: tokens)
            return tokens.accessToken
        }
    }

    func signOut() throws(CommandFailure) {
        try failing { [makeAuthenticator] in try await makeAuthenticator().signOut() }
    }

    private func failing<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws(CommandFailure) -> Value {
        try CommandFailure.reporting(at: name) {
            do {
                return try AsynchronousWork.result(body)
            } catch let error as OAuth2Error {
                throw CommandFailure(error, at: name)
            }
        }
    }
}

extension CommandFailure {
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
            // If the user must sign in for the requested token itself, `token(isForced:asksUser:)`
            // has already handled the error.
            message = "not signed in with the profile whose token is exchanged"
            advice = "; run jwt token --sign-in --profile NAME with its name"
        case .reauthenticationRequired:
            message = "the server rejected the refresh token"
            if error.isPossiblyLostRotation { message += "; a lost response may have rotated it" }
            advice = "; get a new one and replace the old one with it"
        case .storeFailed, .storeBusy, .storeUnavailable, .storeDamaged, .storeTooNew:
            advice = "; choose another folder with --cache-dir FOLDER, or check the store of --store ADDRESS"
        case .serverUnreachable:
            if let cause = error.cause as? NetworkError {
                message += ": \(cause.message)"
                advice = cause.trustAdvice
            }
        case .endpointMissing:
            message = String(error.message.prefix { $0 != ";" })
            advice = "; pass --issuer ISSUER to discover it, or --device-endpoint URL or --authorization-endpoint URL"
        case .assertionFailed, .grantFailed:
            if let cause = error.cause as? WorkloadIdentityError { message += ": \(cause.message)" }
        case .unsupportedTokenType: advice = "; use --dpop to bind tokens to a key"
        default: break
        }
        self.init(
            refusals.contains(error.code) ? .rejected : .failed,
            "\(name): \(message)\(code)\(advice)",
            cause: error
        )
    }
}

/// A token source that replaces a cached token shortly before it expires.
///
/// When several processes request a token at the same time, only one refreshes it. The others find
/// the new token in the store.
struct LastingTokenSource: TokenSource {
    let source: GrantTokenSource
    let leastLifetime: Duration
    /// Receives the error if a token can't be replaced and is used anyway.
    let warn: @Sendable (OAuth2Error) -> Void

    func token(for need: TokenRequirements) async throws -> AccessToken {
        let token = try await source.token(for: need)
        guard token.isFound, let expiry = token.expiry, expiry - .now < leastLifetime else { return token }
        let value = token.value
        do {
            return try await source.token(
                for: TokenRequirements(deadline: need.deadline) { $0 == value || need.isUnwanted($0) }
            )
        } catch let error as OAuth2Error
            where error.isRetryable || [.storeBusy, .storeUnavailable].contains(error.code)
        {
            warn(error)
            return token
        }
    }
}
