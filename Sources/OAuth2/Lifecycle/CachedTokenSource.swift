import Foundation
import Networking
internal import OpenSSLCrypto
import Synchronization

/// Keeps one grant's token, and asks for a new one when that is needed: one request at a time, whoever needs it.
final class CachedTokenSource: Sendable {
    private struct State {
        var lifecycle = TokenLifecycle()
        /// The request under way; the number tells it from an earlier one that comes to its end late.
        var flight: (number: Int, flight: Flight<AccessToken>)?
        var flightCount = 0
        /// Tokens that could not be written to the store; they must not be lost with it.
        var unsaved: TokenRecord?
    }

    private let endpoint: TokenEndpoint
    private let grant: any Grant
    private let store: any TokenStore
    private let flightTimeout: Duration
    private let timeSource: TimeSource
    private let random: @Sendable () -> Double
    private let key: String
    private let state = Mutex(State())

    init(
        endpoint: TokenEndpoint,
        grant: any Grant,
        store: any TokenStore,
        flightTimeout: Duration,
        timeSource: TimeSource,
        random: @escaping @Sendable () -> Double
    ) {
        self.endpoint = endpoint
        self.grant = grant
        self.store = store
        self.flightTimeout = flightTimeout
        self.timeSource = timeSource
        self.random = random
        // A line per part, so that no two different combinations give the same key.
        key = [endpoint.server.issuer, endpoint.clientAuthentication.clientID, grant.identifier]
            .map { $0.replacingOccurrences(of: "\n", with: " ") }
            .joined(separator: "\n")
    }

    /// A token that is good now.
    ///
    /// - Parameter deadline: When to stop waiting for one.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there is none; ``NetworkError`` with the code `timedOut` at the deadline.
    func token(until deadline: ContinuousClock.Instant?) async throws -> AccessToken {
        let now = timeSource.now()
        let (acquisition, flight) = state.withLock { state in
            let acquisition = state.lifecycle.acquire(at: now)
            switch acquisition {
            case .use, .fail: return (acquisition, Flight<AccessToken>?.none)
            case .useAndRefresh, .wait:
                if let flight = state.flight?.flight, !flight.isOver { return (acquisition, flight) }
                return (acquisition, startFlight(&state))
            }
        }
        switch acquisition {
        case .use(let token), .useAndRefresh(let token): return token
        case .fail(let error): throw error
        case .wait: break
        }
        guard let flight else { throw CancellationError() }
        return try await flight.value(until: deadline)
    }

    /// Decides what a 401 means for the request that got it.
    func refused(_ accessToken: Secret, retryState: Retry.State) -> Retry.Action {
        let fingerprint = accessToken.fingerprint
        let now = timeSource.now()
        return state.withLock { $0.lifecycle.refused(fingerprint, at: now, retryState: retryState) }
    }

    // MARK: The flight

    private func startFlight(_ state: inout State) -> Flight<AccessToken> {
        let replaced = state.lifecycle.current
        state.flightCount += 1
        let number = state.flightCount
        let flight = Flight(timeout: flightTimeout, timeSource: timeSource) { [self] in
            do {
                let token = try await store.withExclusiveAccess(to: key, timeout: flightTimeout) {
                    try await newToken(replacing: replaced)
                }
                publish(token, of: number)
                return token
            } catch {
                fail(error, of: number)
                throw error
            }
        }
        state.flight = (number, flight)
        return flight
    }

    private func publish(_ token: AccessToken, of number: Int) {
        let now = timeSource.now()
        state.withLock { state in
            guard state.flight?.number == number else { return }
            state.flight = nil
            state.lifecycle.received(token, at: now, jitter: random())
        }
    }

    private func fail(_ error: any Error, of number: Int) {
        let now = timeSource.now()
        let reason = error as? OAuth2Error ?? OAuth2Error(.serverUnreachable, "no token could be had", cause: error)
        state.withLock { state in
            guard state.flight?.number == number else { return }
            state.flight = nil
            state.lifecycle.failed(with: reason, at: now)
        }
    }

    /// Gets a token: one that another has put into the store, or a refreshed one, or one for the grant itself.
    private func newToken(replacing replaced: AccessToken?) async throws -> AccessToken {
        let stored = try await load()
        if let record = stored?.record, record.accessToken != replaced?.value, let token = adopt(record) {
            return token
        }
        let unsaved = state.withLock { $0.unsaved }
        if let refreshToken = unsaved?.refreshToken ?? stored?.record.refreshToken ?? grant.refreshToken {
            do {
                let response = try await endpoint.requestToken(form: [
                    ("grant_type", "refresh_token"),
                    ("refresh_token", refreshToken.expose { $0 }),
                ])
                // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
                await save(response, refreshToken: response.refreshToken ?? refreshToken, over: stored)
                return response.accessToken
            } catch let error as OAuth2Error where error.serverCode == "invalid_grant" {
                if let stored { _ = try await store.remove(key, ifVersion: stored.version) }
                state.withLock { $0.unsaved = nil }
                guard grant.isRepeatable else {
                    throw OAuth2Error(
                        .reauthenticationRequired,
                        "the refresh token is not accepted any more; authenticate again and make a new authenticator",
                        serverCode: error.serverCode,
                        status: error.status,
                        cause: error
                    )
                }
            }
        }
        guard let form = try await grant.parameters() else {
            throw OAuth2Error(.reauthenticationRequired, "there is no refresh token; authenticate again")
        }
        let response = try await endpoint.requestToken(form: form)
        await save(response, refreshToken: response.refreshToken, over: try await load())
        return response.accessToken
    }

    private func load() async throws -> VersionedTokenRecord? {
        do { return try await store.load(key) } catch {
            throw OAuth2Error(.storeFailed, "the token store could not be read", cause: error)
        }
    }

    /// A stored token, if it is not about to expire.
    private func adopt(_ record: TokenRecord) -> AccessToken? {
        let now = timeSource.now()
        let left = record.expiration.map { $0.timeIntervalSince(timeSource.date()) }
        if let left, left <= 30 { return nil }
        return AccessToken(
            value: record.accessToken,
            type: record.tokenType,
            scope: record.scope,
            expiry: left.map { now + .seconds(min($0, Double(Int32.max))) },
            requested: now
        )
    }

    /// Writes the tokens before anyone uses them: a rotated refresh token that is lost with the process is lost for good.
    private func save(_ response: TokenResponse, refreshToken: Secret?, over stored: VersionedTokenRecord?) async {
        let token = response.accessToken
        let record = TokenRecord(
            accessToken: token.value,
            tokenType: token.type,
            scope: token.scope,
            expiration: response.lifetime.map { timeSource.date().addingTimeInterval($0 / .seconds(1)) },
            refreshToken: refreshToken
        )
        var isSaved = false
        for _ in 1...2 where !isSaved {
            isSaved = (try? await store.compareAndSwap(key, expectedVersion: stored?.version, record: record)) ?? false
        }
        state.withLock { $0.unsaved = isSaved ? nil : record }
    }
}
