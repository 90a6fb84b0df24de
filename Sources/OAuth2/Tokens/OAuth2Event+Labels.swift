public import Networking

extension OAuth2Event: ObservedEvent {
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
    public var severity: EventSeverity {
        switch self {
        case .dead, .storeFailed: .error
        case .refreshFailed, .refreshInDoubt, .backoff, .refused, .withheld: .warning
        case .refreshed, .rotated, .demanded, .skewChanged, .signedOut, .signedIn, .retried: .info
        case .requested, .awaited, .refreshStarted, .nonceUpdated: .debug
        }
    }

    private static func labels(_ code: OAuth2Error.Code) -> [String: String] {
        ["error.type": "\(code)"]
    }

    /// Returns the labels of a failed request.
    static func labels(_ code: OAuth2Error.Code, status: Int?) -> [String: String] {
        let status = status.flatMap { (100...599).contains($0) ? String($0) : nil }
        return ["error.type": "\(code)", "http.response.status_code": status ?? noLabel]
    }

    /// Returns the labels of an origin of the form `host:port`.
    private static func labels(origin: String) -> [String: String] {
        guard let colon = origin.lastIndex(of: ":") else { return ["server.address": origin, "server.port": noLabel] }
        let host = origin[..<colon]
        let plain = host.first == "[" ? host.dropFirst().dropLast() : host
        return ["server.address": String(plain), "server.port": String(origin[origin.index(after: colon)...])]
    }

    private static func seconds(_ duration: Duration) -> String { String(duration / .seconds(1)) }
}
