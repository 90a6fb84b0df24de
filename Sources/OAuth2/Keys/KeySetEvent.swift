public import Networking

/// An event of a ``RemoteKeySet``, for logs and metrics.
///
/// The observers of the key set's client receive it.
@nonexhaustive
public enum KeySetEvent: ObservedEvent, Hashable {
    /// The issuer's keys arrived, or the issuer confirmed that they haven't changed.
    case refreshed(host: String, keyCount: Int, isChanged: Bool)
    /// A request for the keys failed. The host is `nil` if the URL isn't known.
    case refreshFailed(host: String?, OAuth2Error.Code, status: Int?)

    /// `oauth2.keys.refreshed` or `oauth2.keys.refresh_failed`.
    public var name: String {
        switch self {
        case .refreshed: "oauth2.keys.refreshed"
        case .refreshFailed: "oauth2.keys.refresh_failed"
        }
    }

    /// `server.address`; `oauth2.keys.changed`, or `error.type` and `http.response.status_code`.
    public var labels: [String: String] {
        switch self {
        case .refreshed(let host, _, let isChanged): ["server.address": host, "oauth2.keys.changed": "\(isChanged)"]
        case .refreshFailed(let host, let code, let status):
            OAuth2Event.labels(code, status: status).merging(["server.address": host ?? Self.noLabel]) { $1 }
        }
    }

    /// The number of keys, as `oauth2.keys.count`.
    public var details: [String: String] {
        if case .refreshed(_, let count, _) = self { ["oauth2.keys.count": "\(count)"] } else { [:] }
    }

    /// `debug` for unchanged keys, `info` for changed keys and `warning` for failures.
    public var severity: EventSeverity {
        switch self {
        case .refreshed(_, _, let isChanged): isChanged ? .info : .debug
        case .refreshFailed: .warning
        }
    }
}
