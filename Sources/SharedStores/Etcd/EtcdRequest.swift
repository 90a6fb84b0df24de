import Foundation
import Networking
import OAuth2
import TokenGeneration

// The gateway ignores members that it doesn't know, and a compare without its target matches an
// absent key. Requests are therefore only created from these types, never from free text.
struct EtcdRequest {
    struct Compare {
        fileprivate let json: JSONObject

        static func absent(_ key: String) -> Self {
            Self(json: ["key": text(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"])
        }

        static func revision(_ key: String, _ revision: Int64) -> Self {
            let number = JSONValue.string(String(revision))
            return Self(json: ["key": text(key), "target": "MOD", "result": "EQUAL", "mod_revision": number])
        }

        /// The key exists, and its value sorts before the given one.
        static func less(_ key: String, than value: [UInt8]) -> Self {
            Self(json: ["key": text(key), "target": "VALUE", "result": "LESS", "value": bytes(value)])
        }
    }

    struct Operation {
        fileprivate let json: JSONObject

        static func put(_ key: String, _ value: [UInt8], lease: Int64? = nil) -> Self {
            var put: JSONObject = ["key": text(key), "value": bytes(value)]
            put["lease"] = lease.map { .string(String($0)) }
            return Self(json: ["request_put": .object(put)])
        }

        static func get(_ key: String) -> Self { Self(json: ["request_range": ["key": text(key)]]) }
        static func delete(_ key: String) -> Self { Self(json: ["request_delete_range": ["key": text(key)]]) }
        static func deleteRange(_ first: String, _ end: String) -> Self {
            Self(json: ["request_delete_range": ["key": text(first), "range_end": text(end)]])
        }
    }

    let path: String
    let json: JSONObject
    /// Repeating the request can change something.
    private(set) var isWrite = false
    private(set) var isLogin = false

    static func range(_ key: String) -> Self { Self(path: "/v3/kv/range", json: ["key": text(key)]) }

    static func transaction(
        if conditions: [Compare],
        then: [Operation],
        otherwise: [Operation] = []
    ) -> Self {
        let json: JSONObject = [
            "compare": .array(conditions.map { .object($0.json) }),
            "success": .array(then.map { .object($0.json) }),
            "failure": .array(otherwise.map { .object($0.json) }),
        ]
        return Self(path: "/v3/kv/txn", json: json, isWrite: true)
    }

    static func watch(_ key: String, from revision: Int64) -> Self {
        let request: JSONObject = ["key": text(key), "start_revision": .string(String(revision))]
        return Self(path: "/v3/watch", json: ["create_request": .object(request)])
    }

    static func grantLease(seconds: Int) -> Self {
        Self(path: "/v3/lease/grant", json: ["TTL": .string(String(seconds))])
    }

    static func revokeLease(_ lease: Int64) -> Self {
        Self(path: "/v3/lease/revoke", json: ["ID": .string(String(lease))])
    }

    static func authenticate(name: String, password: String) -> Self {
        let json: JSONObject = ["name": .string(name), "password": .string(password)]
        return Self(path: "/v3/auth/authenticate", json: json, isLogin: true)
    }
}

private func text(_ key: String) -> JSONValue { bytes(Array(key.utf8)) }

private func bytes(_ value: [UInt8]) -> JSONValue { .string(Data(value).base64EncodedString()) }

/// An answer of the gateway, which leaves out values that are false, zero or empty.
struct EtcdResponse {
    struct Entry {
        let value: [UInt8]
        let revision: Int64
    }

    private let json: JSONObject

    init?(_ body: Data) {
        guard let json = try? JSONObject(parsing: body), json["header"]?.object != nil else { return nil }
        self.json = json
    }

    /// The revision of the store after the request.
    var revision: Int64? { Self.number(json["header"]?.object?["revision"]) }
    var succeeded: Bool { json["succeeded"]?.bool ?? false }
    var lease: Int64? { Self.number(json["ID"]) }
    var token: String? { json["token"]?.string }

    func entry() throws(OAuth2Error) -> Entry? { try Self.entry(json) }

    func entries() throws(OAuth2Error) -> [Entry?] {
        guard let responses = json["responses"]?.array else { throw EtcdFailure.malformed.error }
        var entries: [Entry?] = []
        for response in responses {
            guard let range = response.object?["response_range"]?.object else { throw EtcdFailure.malformed.error }
            entries.append(try Self.entry(range))
        }
        return entries
    }

    private static func entry(_ json: JSONObject) throws(OAuth2Error) -> Entry? {
        guard let entries = json["kvs"] else { return nil }
        guard let list = entries.array, let first = list.first?.object,
            let revision = number(first["mod_revision"])
        else { throw EtcdFailure.malformed.error }
        guard let text = first["value"] else { return Entry(value: [], revision: revision) }
        guard let value = text.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw EtcdFailure.malformed.error
        }
        return Entry(value: Array(value), revision: revision)
    }

    /// Reads a 64-bit number, which the gateway writes as text.
    private static func number(_ value: JSONValue?) -> Int64? {
        value?.string.flatMap(Int64.init) ?? value?.number?.integer.map(Int64.init)
    }
}

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

    private(set) var kind: Kind
    /// The member has too many requests.
    private(set) var isLimited = false
    /// The error for the caller, without anything that etcd was sent.
    let error: OAuth2Error

    private init(_ kind: Kind, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        let code: OAuth2Error.Code = kind == .rejected || kind == .notLoggedIn ? .storeFailed : .storeUnavailable
        error = OAuth2Error(code, message, status: status, cause: cause)
        self.kind = kind
    }

    /// The failure of a request that needed this one first, and so wasn't sent.
    var beforeRequest: Self {
        var failure = self
        if kind == .unknown { failure.kind = .notDone }
        return failure
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
            case (429, 8) where text.contains("too many requests"), (429, nil):
                (.notDone, "etcd is overloaded")
            case (503, 14) where text.contains("no leader"):
                (.notDone, "the etcd member has no leader; check the cluster's quorum")
            case (408, _), (500..., _):
                (.unknown, "etcd didn't complete the request; check the cluster's quorum")
            default:
                (
                    .rejected,
                    "etcd rejected the request; a client certificate for its gateway must not have a common name"
                )
            }
        var failure = Self(kind, "\(message) \(StoreService.summary(status, text))", status: status)
        failure.isLimited = kind == .notDone && status == 429
        return failure
    }
}
