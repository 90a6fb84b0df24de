import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization

@testable import SharedStores

/// A double of an HTTP server with conditional requests, as RFC 9110 describes them.
final class HTTPStoreDouble: Sendable {
    /// The differences of a server from the usual.
    struct Habits {
        var sendsTagOfWrites = true
        var isWeak = false
        var ignoresMatch = false
        var ignoresNoneMatch = false
        /// The status for a precondition that isn't met.
        var conflict = 412
        var fields: [String: String] = [:]
    }

    private struct State {
        var habits = Habits()
        var count = 0
        var values: [String: (value: Data, tag: String)] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex(State())

    init(_ habits: Habits = Habits()) { state.withLock { $0.habits = habits } }

    var requests: [MockTransport.RecordedRequest] { service.requests }

    func change(_ change: (inout Habits) -> Void) { state.withLock { change(&$0.habits) } }

    func store(_ url: String = "http://127.0.0.1:1/tokens", fields: [String: String] = [:]) throws -> HTTPTokenStore {
        let transport = service.transport { [self] request in answer(request) }
        let keys = try RecordKeys(sealing: ServiceDouble.key)
        return try HTTPTokenStore(URL(string: url)!, keys: keys, fields: fields, transport: transport)
    }

    private func answer(_ request: HTTPTransportRequest) -> HTTPTransportResponse {
        let body = request.bodyData() ?? Data()
        return state.withLock { state in
            let habits = state.habits
            let path = request.url.path
            let found = state.values[path]
            if request.method == .get {
                guard let found else { return Self.response(404) }
                return Self.response(200, found.value, [habits.isWeak ? "W/\(found.tag)" : found.tag], habits)
            }
            if let tag = request.headers["If-Match"], tag != found?.tag, !habits.ignoresMatch {
                return Self.response(found == nil && habits.conflict == 409 ? 404 : habits.conflict)
            }
            if request.headers["If-None-Match"] == "*", found != nil, !habits.ignoresNoneMatch {
                return Self.response(habits.conflict)
            }
            guard request.method == .put else {
                state.values[path] = nil
                return Self.response(204)
            }
            state.count += 1
            let tag = "\"v\(state.count)\""
            state.values[path] = (body, tag)
            return Self.response(found == nil ? 201 : 204, Data(), habits.sendsTagOfWrites ? [tag] : [])
        }
    }

    private static func response(
        _ status: Int,
        _ body: Data = Data(),
        _ tags: [String] = [],
        _ habits: Habits = Habits()
    ) -> HTTPTransportResponse {
        let fields = tags.map { ("ETag", $0) } + habits.fields.map { ($0.key, $0.value) }
        return HTTPTransportResponse(
            status: status,
            headers: HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.0, value: $0.1) }),
            body: body
        )
    }
}
