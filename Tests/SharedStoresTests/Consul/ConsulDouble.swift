import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization

@testable import SharedStores

/// A double of Consul's key-value store, with the answers that its documentation describes.
final class ConsulDouble: Sendable {
    private struct State {
        var index: UInt64 = 10
        var entries: [String: (value: Data, index: UInt64)] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex(State())

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The queries of the requests so far, in order.
    var queries: [String?] { service.requests.map(\.url.query) }

    /// Changes all values, as a foreign program would.
    func change(_ change: (inout Data) -> Void) {
        state.withLock { state in
            for key in state.entries.keys {
                state.index += 1
                var value = state.entries[key]?.value ?? Data()
                change(&value)
                state.entries[key] = (value, state.index)
            }
        }
    }

    /// Gives all entries a lower index, as a restoration does.
    func restore(to index: UInt64) {
        state.withLock { state in
            state.index = index
            for key in state.entries.keys { state.entries[key]?.index = index }
        }
    }

    func store(
        _ url: String = "http://127.0.0.1:8500",
        token: StoreCredential? = nil,
        prefix: String = "tokens/"
    ) throws -> ConsulTokenStore {
        let transport = service.transport { [self] request in try await answer(request) }
        let agent = try ConsulAgent(URL(string: url)!, token: token, transport: transport)
        return try ConsulTokenStore(agent, prefix: prefix, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    private func answer(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let value = { (name: String) in items.first { $0.name == name }?.value }
        let path = request.url.path
        if request.method == .get {
            // A blocking query answers when the index is above the given one, or after the time.
            let wait = value("wait").flatMap { Int($0.dropLast(2)) } ?? 0
            for _ in 0..<(wait / 5) {
                guard let index = value("index").flatMap(UInt64.init), index > 0,
                    state.withLock({ Self.index($0, path) }) <= index
                else { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            return state.withLock { Self.entry($0, path) }
        }
        let body = request.bodyData() ?? Data()
        guard body.count <= 512 << 10 else { return .text("Request body too large", status: 413) }
        return state.withLock { state in
            let found = state.entries[path]
            if let expected = value("cas") {
                // A removal of an absent key succeeds.
                if request.method == .delete, found == nil { return .text("true\n") }
                guard expected == String(found?.index ?? 0) else { return .text("false\n") }
            }
            state.index += 1
            state.entries[path] = request.method == .put ? (body, state.index) : nil
            return .text("true\n")
        }
    }

    private static func index(_ state: State, _ path: String) -> UInt64 { state.entries[path]?.index ?? state.index }

    private static func entry(_ state: State, _ path: String) -> HTTPTransportResponse {
        let headers: HTTPHeaders = ["X-Consul-Index": String(index(state, path)), "X-Consul-KnownLeader": "true"]
        guard let found = state.entries[path] else { return HTTPTransportResponse(status: 404, headers: headers) }
        let value = found.value.base64EncodedString()
        let key = path.dropFirst("/v1/kv/".count)
        let json =
            #"[{"LockIndex":0,"Key":"\#(key)","Flags":0,"Value":"\#(value)","#
            + #""CreateIndex":1,"ModifyIndex":\#(found.index)}]"#
        return HTTPTransportResponse(status: 200, headers: headers, body: Data(json.utf8))
    }
}
