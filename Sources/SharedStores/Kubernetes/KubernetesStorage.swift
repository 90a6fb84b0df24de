import Foundation
import Networking
import OAuth2
import TokenGeneration

/// Values in the [secrets](https://kubernetes.io/docs/concepts/configuration/secret/) of a
/// Kubernetes namespace.
struct KubernetesStorage: ConditionalStorage {
    let service: StoreService
    let namespace: String
    let prefix: String

    /// The limit of a secret's data.
    var maximumSize: Int { 1 << 20 }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        // Without a resource version, the answer is the current state, not that of a cache.
        let answer = try await service.answer("GET", path(name))
        if Self.isRefusal(answer, 404, "NotFound") { return nil }
        guard answer.status == 200 else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits), let version = version(of: name, in: json) else {
            throw Self.malformed(answer)
        }
        // Another program's secret counts as a damaged record, which only a sign-in replaces.
        let record = json["data"]?.object?["record"]?.string.flatMap { Data(base64Encoded: $0) }
        return (record.map(Array.init) ?? [], version)
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        var metadata: JSONObject = ["name": .string(prefix + name), "namespace": .string(namespace)]
        if let version {
            guard UInt64.version(version) != nil else { return nil }
            metadata["resourceVersion"] = .string(version)
        }
        let secret: JSONObject = [
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": .object(metadata),
            "type": "Opaque",
            "data": ["record": .string(Data(value).base64EncodedString())],
        ]
        let answer = try await service.answer(
            version == nil ? "POST" : "PUT",
            version == nil ? path : path(name),
            json: secret
        )
        if version == nil, Self.isRefusal(answer, 409, "AlreadyExists") { return nil }
        if version != nil, Self.isRefusal(answer, 409, "Conflict") || Self.isRefusal(answer, 404, "NotFound") {
            return nil
        }
        guard [200, 201].contains(answer.status) else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits), let next = self.version(of: name, in: json), next != version else {
            throw Self.malformed(answer)
        }
        return next
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        guard UInt64.version(version) != nil else { return false }
        let options: JSONObject = [
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": ["resourceVersion": .string(version)],
        ]
        let answer = try await service.answer("DELETE", path(name), json: options)
        if Self.isRefusal(answer, 409, "Conflict") || Self.isRefusal(answer, 404, "NotFound") { return false }
        guard [200, 202].contains(answer.status) else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits) else { throw Self.malformed(answer) }
        if json["kind"] == "Status", json["status"] == "Success" { return true }
        throw answer.unexpected("Kubernetes marked a record for removal, but a finalizer may keep it")
    }

    private var path: String { "api/v1/namespaces/\(namespace)/secrets" }

    private func path(_ name: String) -> String { "\(path)/\(prefix)\(name)" }

    // MARK: Answers

    /// A secret of the largest size, in base64, is above the limit of other documents.
    private static let limits: JSONLimits = {
        var limits = JSONLimits.document
        limits.size = StoreService.maximumResponseSize
        return limits
    }()

    /// Returns the resource version of a secret; `nil` if the answer is another object.
    private func version(of name: String, in json: JSONObject) -> String? {
        guard json["kind"] == "Secret", let metadata = json["metadata"]?.object,
            metadata["name"] == .string(prefix + name), let version = metadata["resourceVersion"]?.string,
            UInt64.version(version) != nil
        else { return nil }
        return version
    }

    /// Returns a Boolean value that indicates whether an answer is the refusal of a condition.
    ///
    /// Absent namespaces and conflicts in quotas have the same status codes and reasons, but
    /// another kind.
    private static func isRefusal(_ answer: StoreService.Answer, _ status: Int, _ reason: String) -> Bool {
        guard answer.status == status, let json = answer.json(Self.limits) else { return false }
        return json["kind"] == "Status" && json["reason"] == .string(reason)
            && json["details"]?.object?["kind"] == "secrets"
    }

    private static func malformed(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.unexpected("the response isn't that of a Kubernetes API server; check its URL")
    }

    private static func rejected(_ answer: StoreService.Answer) -> OAuth2Error {
        switch answer.status {
        case 409:
            answer.unexpected("Kubernetes reports a conflict of another object, such as a quota")
        case 404:
            answer.rejected("Kubernetes has no such namespace, or the URL isn't that of an API server")
        default:
            answer.rejected(
                "Kubernetes rejected the request with status \(answer.status); check the size of the record, and for a "
                    + "secret that is immutable or has another type"
            )
        }
    }
}
