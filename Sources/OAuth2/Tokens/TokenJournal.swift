import Networking
import Synchronization

/// The counters and observers of an authenticator.
final class TokenJournal: Sendable {
    private struct State {
        var counters = OAuth2Counters()
        var observers: [any ClientObserver]
    }

    private let state: Mutex<State>

    /// Creates a journal for the observers of the client that sends the token requests.
    init(_ observers: [any ClientObserver] = []) {
        state = Mutex(State(observers: observers))
    }

    var counters: OAuth2Counters { state.withLock { $0.counters } }

    var observers: [any ClientObserver] { state.withLock { $0.observers } }

    /// Adds observers that aren't there yet.
    func add(_ observers: [any ClientObserver]) {
        state.withLock { $0.observers = $0.observers.merging(observers) }
    }

    func add(_ event: OAuth2Event) {
        let observers = state.withLock { state in
            state.counters.count(event)
            return state.observers
        }
        observers.observe(event)
    }

    func failed(_ error: OAuth2Error, backoff: Duration?, isDead: Bool) {
        add(.refreshFailed(error.code, status: error.status))
        if isDead {
            add(.dead(error.code, isPossiblyLostRotation: error.isPossiblyLostRotation))
        } else if let backoff {
            add(.backoff(backoff, error.code))
        }
    }
}

extension OAuth2Counters {
    fileprivate mutating func count(_ event: OAuth2Event) {
        switch event {
        case .requested: tokenRequests += 1
        case .awaited: waits += 1
        case .retried: retries += 1
        case .refused: refusals += 1
        case .refreshed(_, _, isFound: true): found += 1
        case .refreshed(_, _, isFound: false): refreshes += 1
        case .refreshFailed: failures += 1
        case .rotated: rotations += 1
        case .storeFailed: storeFailures += 1
        case .refreshStarted, .refreshInDoubt, .backoff, .dead, .nonceUpdated, .skewChanged, .demanded, .withheld,
            .signedOut, .signedIn:
            break
        }
    }
}
