import Foundation
import Networking
import OAuth2
import TokenGeneration

/// Values in [a KV secrets engine of version
/// 2](https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2).
struct VaultStorage: ConditionalStorage {
    /// A secret's current version.
    private enum State {
        /// The secret doesn't exist.
        case absent
        /// The version was removed by this store, or deleted or destroyed by another program. The
        /// next write has to name it.
        case removed(Int)
        case present([UInt8], Int)
    }

    let service: StoreService
    let mount: String
    let path: String

    /// The largest value that fits, as base64 and with its envelope, into an entry of 512 KiB,
    /// which is the limit of Vault's smallest storage.
    var maximumSize: Int { 380 << 10 }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        guard case .present(let value, let version) = try await state(of: name) else { return nil }
        return (value, String(version))
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        let data: JSONObject = ["record": .string(Data(value).base64EncodedString())]
        if let version {
            guard let version = Int.version(version) else { return nil }
            return try await put(data, to: name, over: version).map(String.init)
        }
        try await configure(name)
        if let created = try await put(data, to: name, over: 0) { return String(created) }
        switch try await state(of: name) {
        case .present: return nil
        // The numbers go on after a removal.
        case .removed(let removed): return try await put(data, to: name, over: removed).map(String.init)
        case .absent:
            // Without an error, a caller would read and write in turns until the node catches up.
            throw OAuth2Error(
                .storeUnavailable,
                "a Vault node has not yet read what another has written; use the address of the active node"
            )
        }
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        guard let version = Int.version(version) else { return false }
        return try await put([:], to: name, over: version) != nil
    }

    // MARK: Requests

    /// Limits a secret to one version, since older ones contain older tokens.
    private func configure(_ name: String) async throws {
        let answer = try await service.answer(
            "POST",
            "v1/\(mount)/metadata/\(path)/\(name)",
            json: ["max_versions": 1, "cas_required": true]
        )
        guard [200, 204].contains(answer.status) else { throw Self.rejected(answer) }
    }

    private func state(of name: String) async throws -> State {
        let answer = try await service.answer("GET", dataPath(name))
        guard [200, 404].contains(answer.status) else { throw Self.rejected(answer) }
        guard let json = answer.json() else { throw Self.malformed(answer) }
        guard let found = json["data"]?.object else {
            // An absent secret has an empty list of errors; an absent mount has an error.
            guard answer.status == 404, let errors = json["errors"]?.array else { throw Self.malformed(answer) }
            guard errors.isEmpty else { throw Self.rejected(answer) }
            return .absent
        }
        guard let version = found["metadata"]?.object?["version"]?.number?.integer, version > 0 else {
            throw Self.malformed(answer)
        }
        if answer.status == 404 { return .removed(version) }
        guard let data = found["data"]?.object else { throw Self.malformed(answer) }
        if data.isEmpty { return .removed(version) }
        // Another program's secret counts as a damaged record, which only a sign-in replaces.
        let record = data["record"]?.string.flatMap { Data(base64Encoded: $0) }
        return .present(record.map(Array.init) ?? [], version)
    }

    /// Writes a secret if its current version is the given one.
    private func put(_ data: JSONObject, to name: String, over version: Int) async throws -> Int? {
        let body: JSONObject = [
            "options": ["cas": .number(JSONNumber(version))],
            "data": .object(data),
        ]
        let answer = try await service.answer("POST", dataPath(name), json: body)
        switch answer.status {
        case 200:
            guard let next = answer.json()?["data"]?.object?["version"]?.number?.integer, next > version else {
                throw Self.malformed(answer)
            }
            return next
        case 400 where Self.hasError(answer, "check-and-set parameter did not match the current version"):
            return nil
        case 204:
            throw answer.rejected(
                "the secrets engine isn't KV version 2, so hosts would overwrite each other's records"
            )
        default: throw Self.rejected(answer)
        }
    }

    private func dataPath(_ name: String) -> String { "v1/\(mount)/data/\(path)/\(name)" }

    // MARK: Answers

    private static func hasError(_ answer: StoreService.Answer, _ text: String) -> Bool {
        answer.json()?["errors"]?.array?.contains { $0.string?.asciiOnly.contains(text) ?? false } ?? false
    }

    private static func malformed(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.unexpected("the response isn't that of a KV secrets engine of version 2; check the URL and the mount")
    }

    private static func rejected(_ answer: StoreService.Answer) -> OAuth2Error {
        switch answer.status {
        case 412, 472, 473:
            answer.unexpected("the Vault node can't process the request; use the active node")
        case 400 where hasError(answer, "Upgrading from non-versioned to versioned data"):
            answer.unexpected("the secrets engine is being upgraded to version 2")
        case 300..<400:
            answer.rejected("the Vault node is a standby that redirects clients; use the address of the active node")
        case 404:
            answer.rejected("Vault has no secrets engine at the mount")
        default:
            answer.rejected(
                "Vault rejected the request with status \(answer.status); check the URL, the mount and the namespace"
            )
        }
    }
}
