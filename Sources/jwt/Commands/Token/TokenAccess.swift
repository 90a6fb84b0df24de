import Networking
import OAuth2
import Synchronization

struct TokenAccess: Sendable {
    let options: TokenOptions
    let losses: StoreLosses
    /// The server, client and grant, without secrets.
    let identifier: String
    let grant: any Grant
    let grantSource: GrantTokenSource
    let store: any TokenStore
    /// The transport for the authorization server and the API, with the client certificate, if any.
    let transport: CurlTransport
    let network: NetworkClient
    let client: OAuth2Client
    let console: Console

    private var name: String { options.server.name }

    private var authenticator: OAuth2Authenticator {
        OAuth2Authenticator(client: client, grant: grant, resources: .everyHTTPSOrigin, store: store)
    }

    var source: LastingTokenSource {
        LastingTokenSource(source: grantSource, leastLifetime: options.leastLifetime) { [console, name] in
            console.warn(
                "\(name): can't get a new token, so the cached one, which expires soon, is used: \($0.message)"
            )
        }
    }

    func token(isForced: Bool, asksUser: Bool) throws(CommandFailure) -> AccessToken {
        defer { warnOfLostToken() }
        return try failing { [self] in
            var need = TokenRequirements()
            do {
                let token = try await source.token()
                guard isForced, token.isFound else { return token }
                need = .replacing(token)
                return try await source.token(for: need)
            } catch let error as OAuth2Error where error.code == .reauthenticationRequired {
                guard let signIn = options.signIn else { throw error }
                guard asksUser else {
                    let message = "not signed in; run jwt token --sign-in with the same options in a terminal"
                    throw CommandFailure(.rejected, message, cause: error)
                }
                return try await token(signIn, unlessKeptFor: need)
            }
        }
    }

    func signedIn() throws(CommandFailure) -> AccessToken {
        defer { warnOfLostToken() }
        return try failing { [self] in
            guard let signIn = options.signIn else {
                throw CommandFailure(.failed, "this grant doesn't require signing in")
            }
            return try await token(signIn, unlessKeptFor: nil)
        }
    }

    /// Warns if the token cache failed, because the next call requests another token.
    func warnOfLostToken() {
        guard losses.takeLoss() else { return }
        console.warn(
            "the token can't be cached; choose another folder with --cache-dir FOLDER, or pass --no-cache"
        )
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
            let tokens = try await signIn.tokens(client, network, timeout: options.server.timeout, console)
            try await authenticator.signIn(with: tokens)
            return tokens.accessToken
        }
    }

    func signOut() throws(CommandFailure) { try failing { [self] in try await authenticator.signOut() } }

    private func failing<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws(CommandFailure) -> Value {
        try CommandFailure.reporting(at: name) {
            do {
                return try AsynchronousWork.result(body)
            } catch let error as OAuth2Error {
                throw CommandFailure(error, at: name, credential: options.credential)
            }
        }
    }
}

/// An observer of failures of the token cache, which don't fail a request for a token.
final class StoreLosses: ClientObserver {
    private let hasLoss = Mutex(false)

    func observe(_ event: any ObservedEvent) {
        if case .storeFailed? = event as? OAuth2Event { hasLoss.withLock { $0 = true } }
    }

    /// Returns whether the cache has failed since the last call.
    func takeLoss() -> Bool {
        hasLoss.withLock { hasLoss in
            defer { hasLoss = false }
            return hasLoss
        }
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
