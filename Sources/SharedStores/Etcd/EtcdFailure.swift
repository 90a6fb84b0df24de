import Foundation
import Networking
import OAuth2
import TokenGeneration

/// A failure of a request to etcd, classified by what it says about the request's effect.
struct EtcdFailure: Error {
    enum Kind {
        /// The request had no effect, and another member may take it.
        case notDone
        /// A write may have happened, or may still happen.
        case unknown
        /// The login is missing or has expired.
        case notLoggedIn
        /// The same request would fail again.
        case rejected
    }

    let kind: Kind
    private let message: String
    private let status: Int?
    private let cause: (any Error)?

    private init(_ kind: Kind, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        self.kind = kind
        self.message = message
        self.status = status
        self.cause = cause
    }

    /// The error for the caller, without anything that etcd was sent.
    var error: OAuth2Error {
        let code: OAuth2Error.Code = kind == .rejected || kind == .notLoggedIn ? .storeFailed : .storeUnavailable
        return OAuth2Error(code, message, status: status, cause: cause)
    }

    /// The failure of a request that needed this one first, and so wasn't sent.
    var beforeRequest: Self {
        kind == .unknown ? Self(.notDone, message, status: status, cause: cause) : self
    }

    static func unreachable(_ error: NetworkError) -> Self {
        Self(
            error.isUnprocessed ? .notDone : .unknown,
            "etcd couldn't be reached or didn't respond in time; check its members and the network",
            cause: error
        )
    }

    static var malformed: Self {
        Self(.unknown, "the response isn't etcd's; check that the URL is that of the JSON gateway")
    }

    /// Classifies an error response by its status code, gRPC code and text.
    static func answer(_ status: Int, _ body: Data?) -> Self {
        let json = body.flatMap { try? JSONObject(parsing: $0) }
        let text = (json?["message"]?.string ?? json?["error"]?.string ?? "").asciiOnly
        let code = json?["code"]?.number?.integer
        let (kind, message): (Kind, String) =
            switch (status, code) {
            case (401, _), (_, 16):
                (.notLoggedIn, "etcd rejects the login; check the user and password")
            case (403, _), (_, 7):
                (.rejected, "the etcd user lacks permission for the prefix; grant a role with readwrite on it")
            case (400, 3) where text.contains("user name is empty"):
                (.notLoggedIn, "etcd requires a login; pass a user and password")
            case (400, 3) where text.contains("authentication failed"):
                (.rejected, "etcd rejects the user or password")
            case (429, 8) where text.contains("space exceeded"):
                (.rejected, "etcd is full and accepts no writes; compact, defragment and disarm its alarm")
            case (429, 8) where text.contains("too many requests"):
                (.notDone, "etcd is overloaded")
            case (503, 14) where text.contains("no leader"):
                (.notDone, "the etcd member has no leader; check the cluster's quorum")
            case (408, _), (500..., _):
                (.unknown, "etcd didn't complete the request; check the cluster's quorum")
            default:
                (
                    .rejected,
                    "etcd rejected the request with status \(status); a client certificate for its gateway must not "
                        + "have a common name"
                )
            }
        return Self(kind, message, status: status)
    }
}
