public import Networking
import Synchronization

/// An event in the life of a token, for logs and metrics, without the token itself.
///
/// A `ClientObserver` of the authenticator's clients receives it.
@nonexhaustive
public enum OAuth2Event: Sendable, Hashable, ObservedEvent {
    /// A request to the token endpoint is about to be sent, for the first time or again.
    case requested
    /// A caller waits for a token.
    case awaited
    /// The client sends a rejected request again.
    case retried
    /// The client doesn't send a rejected request again.
    case refused
    /// A request for a token to replace that of a generation started. If it's in the background,
    /// callers still use the old token.
    case refreshStarted(replacing: Int, isInBackground: Bool)
    /// A token arrived from the server or the store. Its lifetime is `nil` if unknown.
    case refreshed(generation: Int, lifetime: Duration?, isFound: Bool)
    /// A token request failed. The status is that of the server's response, if there was one.
    case refreshFailed(OAuth2Error.Code, status: Int?)
    /// The server rotated the refresh token, and the new one is in the store.
    case rotated
    /// The response to a refresh is missing, here or in a process that ended before storing it.
    ///
    /// The client doesn't send the refresh token again while that request may still be pending. If
    /// the server then rejects it, a rotated refresh token was lost.
    case refreshInDoubt
    /// The client backs off from the server for this long.
    case backoff(Duration, OAuth2Error.Code)
    /// The grant has ended; the user must sign in again.
    case dead(OAuth2Error.Code, isPossiblyLostRotation: Bool)
    /// A server sent a new nonce for DPoP proofs. Its origin is `host:port`.
    case nonceUpdated(origin: String)
    /// A server's clock is ahead of the local one by this much; zero if the clocks agree again.
    case skewChanged(origin: String, Duration)
    /// The store couldn't save a token; it's in memory only.
    case storeFailed
    /// A resource demands more than a fresh token.
    case demanded(OAuth2Error.Code, ResourceDemand)
    /// A server rejected a request that had no token, because the authenticator's ``ResourceRule``
    /// doesn't cover its origin, `host:port`. It's reported once for each origin, for up to 64.
    case withheld(origin: String)
    /// The token was deleted, in memory and in the store.
    case signedOut
    /// The user signed in with new tokens.
    case signedIn

    /// `oauth2.token.` and the name of the case in snake case, such as
    /// `oauth2.token.refresh_failed`.
    public var name: String { "oauth2.token.\(shortName)" }

    private var shortName: String {
        switch self {
        case .requested: "requested"
        case .awaited: "awaited"
        case .retried: "retried"
        case .refused: "refused"
        case .refreshStarted: "refresh_started"
        case .refreshed: "refreshed"
        case .refreshFailed: "refresh_failed"
        case .rotated: "rotated"
        case .refreshInDoubt: "refresh_in_doubt"
        case .backoff: "backoff"
        case .dead: "dead"
        case .nonceUpdated: "nonce_updated"
        case .skewChanged: "skew_changed"
        case .storeFailed: "store_failed"
        case .demanded: "demanded"
        case .withheld: "withheld"
        case .signedOut: "signed_out"
        case .signedIn: "signed_in"
        }
    }

    /// The labels of the event, if it has any.
    ///
    /// - `error.type`: the name of an ``OAuth2Error/Code``;
    /// - `http.response.status_code`: the status of a failed token request;
    /// - `oauth2.token.source`: `server` or `store`, for new tokens;
    /// - `oauth2.token.in_background`: `true` or `false`, for the start of a refresh;
    /// - `oauth2.token.lost_rotation`: `true` or `false`, for the end of a grant;
    /// - `server.address` and `server.port`: the server of a nonce or clock, or one that got no
    ///   token.
    public var labels: [String: String] {
        switch self {
        case .refreshStarted(_, let isInBackground): ["oauth2.token.in_background": "\(isInBackground)"]
        case .refreshed(_, _, let isFound): ["oauth2.token.source": isFound ? "store" : "server"]
        case .refreshFailed(let code, let status): Self.labels(code, status: status)
        case .backoff(_, let code), .demanded(let code, _): Self.labels(code)
        case .dead(let code, let isLost):
            Self.labels(code).merging(["oauth2.token.lost_rotation": "\(isLost)"]) { $1 }
        case .nonceUpdated(let origin), .skewChanged(let origin, _), .withheld(let origin): Self.labels(origin: origin)
        case .requested, .awaited, .retried, .refused, .rotated, .refreshInDoubt, .storeFailed, .signedOut, .signedIn:
            [:]
        }
    }

    /// The seconds of a lifetime, a backoff or a clock's difference, and the generation of a token.
    public var details: [String: String] {
        switch self {
        case .refreshStarted(let generation, _): ["oauth2.token.generation": "\(generation)"]
        case .refreshed(let generation, let lifetime, _):
            [
                "oauth2.token.generation": "\(generation)",
                "oauth2.token.lifetime": lifetime.map(Self.seconds) ?? "unknown",
            ]
        case .backoff(let time, _): ["oauth2.token.backoff": Self.seconds(time)]
        case .skewChanged(_, let skew): ["oauth2.token.skew": Self.seconds(skew)]
        default: [:]
        }
    }

    /// `error` for the end of a grant and for a failed store, `warning` for other failures.
    ///
    /// Of the events of one failure, only one is more than `debug`: that of the grant's end, or
    /// else ``refreshFailed(_:status:)``.
    public var severity: EventSeverity {
        switch self {
        case .dead, .storeFailed: .error
        case .refreshFailed(.reauthenticationRequired, _), .backoff: .debug
        case .refreshFailed, .refreshInDoubt, .refused, .withheld: .warning
        case .refreshed, .rotated, .demanded, .skewChanged, .signedOut, .signedIn, .retried: .info
        case .requested, .awaited, .refreshStarted, .nonceUpdated: .debug
        }
    }

    private static func labels(_ code: OAuth2Error.Code) -> [String: String] {
        ["error.type": "\(code)"]
    }

    static func labels(_ code: OAuth2Error.Code, status: Int?) -> [String: String] {
        let status = status.flatMap { (100...599).contains($0) ? String($0) : nil }
        return ["error.type": "\(code)", "http.response.status_code": status ?? noLabel]
    }

    private static func labels(origin: String) -> [String: String] {
        guard let colon = origin.lastIndex(of: ":") else { return ["server.address": origin, "server.port": noLabel] }
        let host = origin[..<colon]
        let plain = host.first == "[" ? host.dropFirst().dropLast() : host
        return ["server.address": String(plain), "server.port": String(origin[origin.index(after: colon)...])]
    }

    private static func seconds(_ duration: Duration) -> String { String(duration / .seconds(1)) }
}

/// The numbers of events since an authenticator was created.
public struct OAuth2Counters: Sendable, Hashable {
    /// The number of requests to the token endpoint, including retries.
    public var tokenRequests = 0
    /// The number of tokens that the server issued.
    public var refreshes = 0
    /// The number of tokens found in the store.
    public var found = 0
    /// The number of failed attempts to get a token.
    public var failures = 0
    /// The number of callers that waited for a token.
    public var waits = 0
    /// The number of rejected requests that were retried.
    public var retries = 0
    /// The number of rejected requests that weren't retried.
    public var refusals = 0
    /// The number of rotated refresh tokens.
    public var rotations = 0
    /// The number of tokens that the store couldn't save.
    public var storeFailures = 0

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

final class TokenJournal: Sendable {
    private struct State {
        var counters = OAuth2Counters()
        var observers: [any ClientObserver]
    }

    private let state: Mutex<State>

    init(_ observers: [any ClientObserver] = []) {
        state = Mutex(State(observers: observers))
    }

    var counters: OAuth2Counters { state.withLock { $0.counters } }

    var observers: [any ClientObserver] { state.withLock { $0.observers } }

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
