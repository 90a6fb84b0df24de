import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TokenGeneration

@testable import SharedStores

/// A double of etcd's JSON gateway, with the answers that etcd 3.4 gives. It has no watches.
final class EtcdDouble: Sendable {
    private struct State {
        var revision: Int64 = 1
        var entries: [String: (value: [UInt8], revision: Int64)] = [:]
        var tokens: Set<String> = []
    }

    let service = ServiceDouble()
    private let state = Mutex(State())
    private let password: String?

    init(password: String? = nil) { self.password = password }

    var requests: [MockTransport.RecordedRequest] { service.requests }

    func expireTokens() { state.withLock { $0.tokens = [] } }

    /// Changes all values, as a foreign program would.
    func change(_ change: (inout [UInt8]) -> Void) {
        state.withLock { state in
            for key in state.entries.keys {
                state.revision += 1
                state.entries[key]?.revision = state.revision
                var value = state.entries[key]?.value ?? []
                change(&value)
                state.entries[key]?.value = value
            }
        }
    }

    /// The names of all keys.
    var keys: [String] {
        state.withLock { $0.entries.keys.map { String(decoding: Data(base64Encoded: $0) ?? Data(), as: UTF8.self) } }
            .sorted()
    }

    func store(
        _ keys: RecordKeys? = nil,
        endpoints: [String] = ["http://127.0.0.1:1"],
        user: String? = nil,
        password: Secret? = nil
    ) throws -> EtcdTokenStore {
        let own = try RecordKeys(sealing: ServiceDouble.key)
        let cluster = try cluster(endpoints: endpoints, user: user, password: password)
        return EtcdTokenStore(cluster, keys: keys ?? own)
    }

    func cluster(
        endpoints: [String] = ["http://127.0.0.1:1"],
        user: String? = nil,
        password: Secret? = nil
    ) throws -> EtcdCluster {
        let transport = service.transport { [self] request in try answer(request) }
        return try EtcdCluster(
            endpoints: endpoints.map { URL(string: $0)! },
            user: user,
            password: password,
            transport: transport
        )
    }

    private func answer(_ request: HTTPTransportRequest) throws -> HTTPTransportResponse {
        let body = try JSONObject(parsing: request.bodyData() ?? Data())
        let path = request.url.path
        return state.withLock { state in
            if path == "/v3/auth/authenticate" {
                guard body["password"]?.string == password else {
                    return .gRPC(400, 3, "authentication failed, invalid user ID or password")
                }
                let token = "token.\(state.tokens.count)\(state.revision)"
                state.tokens.insert(token)
                return .json(#"{"header":{},"token":"\#(token)"}"#)
            }
            if password != nil {
                guard let token = request.headers["Authorization"] else { return .gRPC(400, 3, "user name is empty") }
                guard state.tokens.contains(token) else { return .gRPC(401, 16, "invalid auth token") }
            }
            switch path {
            case "/v3/kv/range":
                return .json(#"{"header":{"revision":"\#(state.revision)"}\#(Self.range(body, state))}"#)
            case "/v3/kv/txn":
                return Self.transaction(body, &state)
            default:
                return .gRPC(404, 12, "Not Found")
            }
        }
    }

    private static func range(_ body: JSONObject, _ state: State) -> String {
        guard let key = body["key"]?.string, let entry = state.entries[key] else { return "" }
        let value = Data(entry.value).base64EncodedString()
        return #","kvs":[{"key":"\#(key)","mod_revision":"\#(entry.revision)","value":"\#(value)"}],"count":"1""#
    }

    private static func transaction(_ body: JSONObject, _ state: inout State) -> HTTPTransportResponse {
        let holds = (body["compare"]?.array ?? []).allSatisfy { compare in
            guard let compare = compare.object, let key = compare["key"]?.string else { return true }
            let entry = state.entries[key]
            // As in etcd, what is missing compares with zero, and an absent key has no value.
            switch compare["target"]?.string {
            case "MOD": return String(entry?.revision ?? 0) == compare["mod_revision"]?.string ?? "0"
            case "VALUE":
                let value = compare["value"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
                return entry.map { $0.value.lexicographicallyPrecedes(value) } ?? false
            default: return (entry == nil) == (compare["create_revision"]?.string ?? "0" == "0")
            }
        }
        guard holds else {
            let ranges = (body["failure"]?.array ?? []).compactMap { $0.object?["request_range"]?.object }
                .map { #"{"response_range":{"header":{}\#(range($0, state))}}"# }
            let responses = ranges.isEmpty ? "" : #","responses":[\#(ranges.joined(separator: ","))]"#
            return .json(#"{"header":{"revision":"\#(state.revision)"}\#(responses)}"#)
        }
        state.revision += 1
        for operation in body["success"]?.array ?? [] {
            if let put = operation.object?["request_put"]?.object, let key = put["key"]?.string {
                let value = put["value"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
                state.entries[key] = (Array(value), state.revision)
            }
            guard let range = operation.object?["request_delete_range"]?.object, let key = range["key"]?.string else {
                continue
            }
            guard let end = range["range_end"]?.string else {
                state.entries[key] = nil
                continue
            }
            let (first, last) = (Data(base64Encoded: key) ?? Data(), Data(base64Encoded: end) ?? Data())
            for name in state.entries.keys {
                let bytes = Data(base64Encoded: name) ?? Data()
                if !bytes.lexicographicallyPrecedes(first), bytes.lexicographicallyPrecedes(last) {
                    state.entries[name] = nil
                }
            }
        }
        return .json(#"{"header":{"revision":"\#(state.revision)"},"succeeded":true}"#)
    }
}

extension HTTPTransportResponse {
    fileprivate static func gRPC(_ status: Int, _ code: Int, _ text: String) -> Self {
        .json(#"{"error":"\#(text)","message":"\#(text)","code":\#(code)}"#, status: status)
    }

    static func text(_ text: String, status: Int = 200) -> Self { Self(status: status, body: Data(text.utf8)) }

    static func json(_ text: String, status: Int = 200) -> Self {
        Self(status: status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}
