import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TokenGeneration

@testable import SharedStores

/// A double of Vault's KV secrets engine of version 2, with the answers that its documentation
/// describes.
final class VaultDouble: Sendable {
    /// A version that was destroyed has no data.
    struct Version {
        var data: JSONObject?
        var isDeleted = false
    }

    struct Entry {
        var current = 0
        var maxVersions = 0
        var isCASRequired = false
        var versions: [Int: Version] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex<[String: Entry]>([:])
    /// The `max_versions` of the mount.
    private let maxVersions: Int

    init(maxVersions: Int = 0) { self.maxVersions = maxVersions }

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The methods and paths of the requests, without the digests.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.path.replacing(/\/[0-9a-f]{32}/, with: ""))" }
    }
    /// The secrets, in no order.
    var entries: [Entry] { state.withLock { Array($0.values) } }

    /// Changes all secrets, as another program would.
    func change(_ change: (inout Entry) -> Void) {
        state.withLock { state in
            for path in state.keys {
                var entry = state[path] ?? Entry()
                change(&entry)
                state[path] = entry
            }
        }
    }

    func store(
        _ url: String = "http://127.0.0.1:8200",
        token: StoreCredential? = nil,
        namespace: String? = nil,
        readsActiveNode: Bool = false,
        mount: String = "secret",
        path: String = "tokens",
        time: TimeSource = .system
    ) throws -> VaultTokenStore {
        let transport = service.transport(time) { [self] request in answer(request) }
        let server = try VaultServer(
            URL(string: url)!,
            token: token,
            namespace: namespace,
            readsActiveNode: readsActiveNode,
            transport: transport,
            timeSource: time
        )
        return try VaultTokenStore(server, mount: mount, path: path, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    private func answer(_ request: HTTPTransportRequest) -> HTTPTransportResponse {
        let path = request.url.path
        guard let match = path.wholeMatch(of: /\/v1\/[a-z\/]*?(data|metadata)\/(.+)/) else {
            return .vault(404, ["no handler for route"])
        }
        let body = (try? JSONObject(parsing: request.bodyData() ?? Data())) ?? [:]
        return state.withLock { state in
            var entry = state[String(match.2)]
            switch (request.method, match.1) {
            case (.get, "data"):
                return Self.read(entry)
            case (.post, "data"):
                var written = entry ?? Entry()
                let response = write(body, &written)
                if response.status == 200 { state[String(match.2)] = written }
                return response
            case (.post, "metadata"):
                entry = entry ?? Entry()
                entry?.maxVersions = body["max_versions"]?.number?.integer ?? 0
                entry?.isCASRequired = body["cas_required"]?.bool ?? false
                state[String(match.2)] = entry
                return HTTPTransportResponse(status: 204)
            default:
                return .vault(405, ["unsupported operation"])
            }
        }
    }

    private static func read(_ entry: Entry?) -> HTTPTransportResponse {
        guard let entry, let version = entry.versions[entry.current] else { return .vault(404, []) }
        let isGone = version.isDeleted || version.data == nil
        let data = isGone ? "null" : version.data?.serialized() ?? ""
        let metadata =
            #"{"version":\#(entry.current),"deletion_time":"\#(version.isDeleted ? "2026-01-01T00:00:00Z" : "")","#
            + #""destroyed":\#(version.data == nil)}"#
        return .json(#"{"data":{"data":\#(data),"metadata":\#(metadata)}}"#, status: isGone ? 404 : 200)
    }

    private func write(_ body: JSONObject, _ entry: inout Entry) -> HTTPTransportResponse {
        guard let data = body["data"]?.object else { return .vault(400, ["no data provided"]) }
        if let cas = body["options"]?.object?["cas"]?.number?.integer {
            guard cas == entry.current else {
                return .vault(400, ["check-and-set parameter did not match the current version"])
            }
        } else if entry.isCASRequired {
            return .vault(400, ["check-and-set parameter required for this call"])
        }
        entry.current += 1
        entry.versions[entry.current] = Version(data: data)
        // The larger limit wins.
        let limit = max(entry.maxVersions, maxVersions)
        let oldest = entry.current - (limit == 0 ? 10 : limit)
        entry.versions = entry.versions.filter { $0.key > oldest }
        return .json(#"{"data":{"version":\#(entry.current),"deletion_time":"","destroyed":false}}"#)
    }
}

extension HTTPTransportResponse {
    static func vault(_ status: Int, _ errors: [String]) -> Self {
        let body: JSONObject = ["errors": .array(errors.map { .string($0) })]
        return .json(body.serialized(), status: status)
    }
}
