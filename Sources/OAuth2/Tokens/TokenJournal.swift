import Synchronization

/// The counters and event streams of an authenticator.
final class TokenJournal: Sendable {
    private struct State {
        var counters = OAuth2Counters()
        var listeners: [Int: AsyncStream<OAuth2Event>.Continuation] = [:]
        var nextListener = 0
    }

    private let state = Mutex(State())

    var counters: OAuth2Counters { state.withLock { $0.counters } }

    /// Returns a new stream of events, which buffers 256 events and drops the oldest.
    func events() -> AsyncStream<OAuth2Event> {
        AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let listener = state.withLock { state in
                state.nextListener += 1
                state.listeners[state.nextListener] = continuation
                return state.nextListener
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.listeners[listener] = nil }
            }
        }
    }

    func add(_ event: OAuth2Event) {
        let listeners = state.withLock { state in
            switch event {
            case .refreshed(_, _, isFound: true): state.counters.found += 1
            case .refreshed(_, _, isFound: false): state.counters.refreshes += 1
            case .refreshFailed: state.counters.failures += 1
            case .rotated: state.counters.rotations += 1
            case .storeFailed: state.counters.storeFailures += 1
            default: break
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(event) }
    }

    func count(_ counter: any WritableKeyPath<OAuth2Counters, Int> & Sendable) {
        state.withLock { $0.counters[keyPath: counter] += 1 }
    }

    // MARK: Token events

    func started(_ refresh: TokenLifecycle.RefreshID) {
        add(.refreshStarted(replacing: refresh.replacing, isInBackground: refresh.isInBackground))
    }

    func landed(_ token: AccessToken, generation: Int, at now: ContinuousClock.Instant) {
        add(.refreshed(generation: generation, lifetime: token.expiry.map { $0 - now }, isFound: token.isFound))
    }

    func failed(_ error: OAuth2Error, backoff: Duration?, isDead: Bool) {
        add(.refreshFailed(error.code, status: error.status))
        if isDead {
            add(.dead(error.code, isPossiblyLostRotation: error.isPossiblyLostRotation))
        } else if let backoff {
            add(.backoff(backoff, error.code))
        }
    }

    deinit {
        for listener in state.withLock({ $0.listeners.values }) { listener.finish() }
    }
}
