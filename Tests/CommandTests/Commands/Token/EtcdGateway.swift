import Foundation
import MockNetworking
import Networking
import Synchronization
import TokenGeneration

/// The requests of etcd's JSON gateway that a token store sends, on a loopback server.
final class EtcdGateway: Sendable {
    private struct State {
        var revision = 1
        var entries: [String: (value: String, revision: Int)] = [:]
    }

    private let state = Mutex(State())

    init(on server: LoopbackServer) {
        server.on(.post, "/v3/kv/range") { [self] request in
            let key = try JSONObject(parsing: request.body)["key"]?.string ?? ""
            return state.withLock { state in
                let entry = state.entries[key].map {
                    #","kvs":[{"key":"\#(key)","mod_revision":"\#($0.revision)","value":"\#($0.value)"}]"#
                }
                return .json(#"{"header":{"revision":"\#(state.revision)"}\#(entry ?? "")}"#)
            }
        }
        server.on(.post, "/v3/kv/txn") { [self] request in
            let body = try JSONObject(parsing: request.body)
            return state.withLock { Self.transaction(body, &$0) }
        }
    }

    /// All stored values.
    var values: [String] {
        state.withLock { state in
            state.entries.values.map { String(decoding: Data(base64Encoded: $0.value) ?? Data(), as: UTF8.self) }
        }
    }

    private static func transaction(_ body: JSONObject, _ state: inout State) -> LoopbackResponse {
        let compare = body["compare"]?.array?.first?.object
        let key = compare?["key"]?.string ?? ""
        let expected = (compare?["mod_revision"] ?? compare?["create_revision"])?.string
        guard expected == String(state.entries[key]?.revision ?? 0) else {
            return .json(#"{"header":{"revision":"\#(state.revision)"}}"#)
        }
        state.revision += 1
        let put = body["success"]?.array?.first?.object?["request_put"]?.object
        state.entries[key] = put?["value"]?.string.map { ($0, state.revision) }
        return .json(#"{"header":{"revision":"\#(state.revision)"},"succeeded":true}"#)
    }
}
