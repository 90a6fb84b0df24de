import Foundation
import Networking
import OAuth2
import TokenGeneration

// The gateway ignores members that it doesn't know, and a compare without its target matches an
// absent key. Requests are therefore only created from these types, never from free text.
enum EtcdRequest {
    enum Compare {
        case absent(String)
        case revision(String, Int64)
        /// The key exists, and its value sorts before the given one.
        case less(String, than: [UInt8])
    }

    enum Operation {
        case put(String, [UInt8], lease: Int64? = nil)
        case get(String)
        case delete(String)
        case deleteRange(String, String)
    }

    case range(String)
    case transaction(if: [Compare], then: [Operation], otherwise: [Operation])
    case watch(String, from: Int64)
    /// A lease for this number of seconds.
    case grantLease(Int)
    case revokeLease(Int64)
    case authenticate(name: String, password: String)

    var path: String {
        switch self {
        case .range: "/v3/kv/range"
        case .transaction: "/v3/kv/txn"
        case .watch: "/v3/watch"
        case .grantLease: "/v3/lease/grant"
        case .revokeLease: "/v3/lease/revoke"
        case .authenticate: "/v3/auth/authenticate"
        }
    }

    /// A Boolean value that indicates whether repeating the request can change anything.
    var isWrite: Bool {
        if case .transaction = self { true } else { false }
    }

    var json: JSONObject {
        switch self {
        case .range(let key):
            return ["key": Self.text(key)]
        case .transaction(let conditions, let then, let otherwise):
            return [
                "compare": .array(conditions.map { .object($0.json) }),
                "success": .array(then.map { .object($0.json) }),
                "failure": .array(otherwise.map { .object($0.json) }),
            ]
        case .watch(let key, let revision):
            return ["create_request": ["key": Self.text(key), "start_revision": .string(String(revision))]]
        case .grantLease(let seconds):
            return ["TTL": .string(String(seconds))]
        case .revokeLease(let lease):
            return ["ID": .string(String(lease))]
        case .authenticate(let name, let password):
            return ["name": .string(name), "password": .string(password)]
        }
    }

    fileprivate static func text(_ key: String) -> JSONValue { bytes(Array(key.utf8)) }

    fileprivate static func bytes(_ value: [UInt8]) -> JSONValue { .string(Data(value).base64EncodedString()) }
}

extension EtcdRequest.Compare {
    fileprivate var json: JSONObject {
        switch self {
        case .absent(let key):
            [
                "key": EtcdRequest.text(key), "target": "CREATE", "result": "EQUAL",
                "create_revision": "0",
            ]
        case .revision(let key, let revision):
            [
                "key": EtcdRequest.text(key), "target": "MOD", "result": "EQUAL",
                "mod_revision": .string(String(revision)),
            ]
        case .less(let key, let value):
            [
                "key": EtcdRequest.text(key), "target": "VALUE", "result": "LESS",
                "value": EtcdRequest.bytes(value),
            ]
        }
    }
}

extension EtcdRequest.Operation {
    fileprivate var json: JSONObject {
        switch self {
        case .put(let key, let value, let lease?):
            [
                "request_put": [
                    "key": EtcdRequest.text(key), "value": EtcdRequest.bytes(value), "lease": .string(String(lease)),
                ]
            ]
        case .put(let key, let value, nil):
            ["request_put": ["key": EtcdRequest.text(key), "value": EtcdRequest.bytes(value)]]
        case .get(let key): ["request_range": ["key": EtcdRequest.text(key)]]
        case .delete(let key): ["request_delete_range": ["key": EtcdRequest.text(key)]]
        case .deleteRange(let first, let end):
            ["request_delete_range": ["key": EtcdRequest.text(first), "range_end": EtcdRequest.text(end)]]
        }
    }
}

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
