import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TokenGeneration

@testable import SharedStores

/// A double of the secrets of a Kubernetes API server, with the answers that its documentation
/// describes.
final class KubernetesDouble: Sendable {
    private struct State {
        var version = 100
        var secrets: [String: JSONObject] = [:]
    }

    static let namespace = "reports"

    let service = ServiceDouble()
    private let state = Mutex(State())

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The methods and paths of the requests, without the digests.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.path.replacing(/[0-9a-f]{32}/, with: "…"))" }
    }

    /// Changes the members of all secrets, as another program would.
    func change(_ change: (inout JSONObject) -> Void) {
        state.withLock { state in
            for name in state.secrets.keys {
                var secret = state.secrets[name] ?? [:]
                change(&secret)
                state.version += 1
                state.secrets[name] = Self.versioned(secret, state.version)
            }
        }
    }

    func store(
        _ url: String = "https://10.0.0.1:443",
        namespace: String = KubernetesDouble.namespace,
        token: StoreCredential? = nil,
        prefix: String = "token-",
        time: TimeSource = .system
    ) throws -> KubernetesTokenStore {
        let transport = service.transport(time) { [self] request in
            answer(request.method, request.url.path, request.bodyData() ?? Data())
        }
        let namespace = try KubernetesNamespace(
            namespace,
            server: URL(string: url)!,
            token: token,
            transport: transport,
            timeSource: time
        )
        return try KubernetesTokenStore(namespace, prefix: prefix, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    func answer(_ method: HTTPMethod, _ path: String, _ body: Data) -> HTTPTransportResponse {
        guard let match = path.wholeMatch(of: /\/api\/v1\/namespaces\/([^\/]+)\/secrets(?:\/([^\/]+))?/) else {
            return .text("404 page not found", status: 404)
        }
        var limits = JSONLimits.document
        limits.size = 3 << 20
        let json = (try? JSONObject(parsing: Array(body), limits: limits)) ?? [:]
        let metadata = json["metadata"]?.object
        guard let name = match.2.map(String.init) ?? metadata?["name"]?.string else { return .status(422, "Invalid") }
        return state.withLock { state in
            let found = state.secrets[name]
            let current = found?["metadata"]?.object?["resourceVersion"]?.string
            switch method {
            case .get:
                return found.map { .json($0.serialized()) } ?? .status(404, "NotFound")
            case .post:
                guard match.1 == Self.namespace else { return .status(404, "NotFound", kind: "namespaces") }
                guard found == nil else { return .status(409, "AlreadyExists") }
            case .put:
                guard found != nil else { return .status(404, "NotFound") }
                // An update without a version, or with 0, is unconditional.
                let version = metadata?["resourceVersion"]?.string ?? ""
                guard ["", "0", current].contains(version) else { return .status(409, "Conflict") }
                guard found?["immutable"]?.bool != true else { return .status(422, "Invalid") }
            case .delete:
                guard let found else { return .status(404, "NotFound") }
                let version = json["preconditions"]?.object?["resourceVersion"]?.string
                guard version == nil || version == current else { return .status(409, "Conflict") }
                guard found["metadata"]?.object?["finalizers"] == nil else { return .json(found.serialized()) }
                state.secrets[name] = nil
                return .json(#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"kind":"secrets"}}"#)
            default:
                return .status(405, "MethodNotAllowed")
            }
            guard (json["data"]?.object?["record"]?.string?.utf8.count ?? 0) <= (1 << 20) * 4 / 3 + 4 else {
                return .status(422, "Invalid")
            }
            state.version += 1
            let stored = Self.versioned(json, state.version)
            state.secrets[name] = stored
            return .json(stored.serialized(), status: method == .post ? 201 : 200)
        }
    }

    private static func versioned(_ secret: JSONObject, _ version: Int) -> JSONObject {
        var (secret, metadata) = (secret, secret["metadata"]?.object ?? [:])
        metadata["resourceVersion"] = .string(String(version))
        secret["metadata"] = .object(metadata)
        return secret
    }
}

extension HTTPTransportResponse {
    /// Returns a failure as Kubernetes reports it.
    static func status(
        _ status: Int,
        _ reason: String,
        kind: String = "secrets",
        headers: HTTPHeaders = [:]
    ) -> Self {
        let text =
            #"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"…","#
            + #""reason":"\#(reason)","details":{"name":"x","kind":"\#(kind)"},"code":\#(status)}"#
        return Self(status: status, headers: headers, body: Data(text.utf8))
    }
}
