public import Foundation
public import Networking
public import OAuth2
import Synchronization
import TokenGeneration

/// A token store in a KV secrets engine (version 2) of Vault or OpenBao, which any number of hosts
/// share.
///
/// ```swift
/// let store = try VaultTokenStore(server, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Each record is a secret with the member `record`, which Vault gets encrypted. Writes have the
/// check-and-set option `cas`. A refresh is two writes and at most one read. Vault doesn't tell of
/// changes, so hosts that wait for one poll.
///
/// **Old versions.** The engine keeps ten versions by default, with refresh tokens that were
/// replaced. When the store creates a record, it sets `max_versions` to 1 and `cas_required` to
/// `true` in its metadata. The mount's own `max_versions` wins if it's larger: leave it unset, or
/// set it to 1. Don't set `delete_version_after`, which would remove records.
///
/// **Removals.** Vault can't remove on a condition. The store writes an empty version instead,
/// which later sign-ins replace. Don't remove records with `vault kv delete`: that leaves the
/// version, so a refresh that has begun writes over it. `vault kv metadata delete` counts versions
/// anew; use it only while no host runs.
///
/// **Permissions.** The token needs `create`, `read` and `update` on the data of the path, and
/// `create` and `update` on its metadata.
///
/// The store can't use version 1 of the engine, which has no conditions. Without
/// `readsActiveNode`, it can't read consistently from a standby node that answers reads itself. A
/// process that gets an old record from one rejects it with the code `storeDamaged`. After a
/// restoration from a snapshot, remove all records and sign in again. The store is tested with
/// OpenBao, alone and with three nodes, but not with HashiCorp's own Vault.
public typealias VaultTokenStore = SealedTokenStore<VaultServer>

extension SealedTokenStore where Place == VaultServer {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - mount: The path of the secrets engine. The default is `secret`.
    ///   - path: The path of the records in the engine. The default is `tokens`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if a path isn't names of ASCII letters,
    ///   digits, `-`, `.`, `_` and `~` with slashes between them.
    public init(
        _ server: VaultServer,
        mount: String = "secret",
        path: String = "tokens",
        keys: RecordKeys
    ) throws(OAuth2Error) {
        guard StoreService.isPlainPath(mount), StoreService.isPlainPath(path) else {
            throw OAuth2Error(.storeFailed, "the paths of a Vault store must be names with slashes between them")
        }
        self.init(
            VaultStorage(service: server.service, mount: mount, path: path),
            keys: keys,
            timeSource: server.service.timeSource
        )
    }
}

/// A Vault or OpenBao server, reached by its HTTP API.
///
/// ```swift
/// let server = try VaultServer(
///     URL(string: "https://vault.example:8200")!,
///     token: .file("/run/vault/token")
/// )
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
/// Only a request that the server rejects with 429 is repeated, once, after the time in
/// `Retry-After` or up to a second.
///
/// Pass the address of the active node, or of a load balancer that prefers it. Redirects of standby
/// nodes are errors, because they would take the token to another host. Performance standbys of
/// Vault and standbys of OpenBao answer reads with data that's behind by some time. Set
/// `disable_standby_reads = true` in the configuration of OpenBao, or `readsActiveNode` here.
public struct VaultServer: Sendable {
    let service: StoreService

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - url: The URL of the server, without `/v1`. Plain HTTP is accepted only for this machine.
    ///   - token: The client token. A token that expires needs a file that Vault Agent or another
    ///     program renews. The default is `nil`, for a Vault Proxy that adds the token.
    ///   - namespace: The namespace, such as `teams/reports`. The default is `nil`.
    ///   - readsActiveNode: A Boolean value that indicates whether standby nodes have to forward
    ///     requests to the active node. Vault forwards all of them, if its configuration has
    ///     `allow_forwarding_via_header`. OpenBao 2.7 and later forwards those for which the node
    ///     is behind what this process has seen; only the first read of a process may be old. The
    ///     default is `false`.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment, or if the
    ///   namespace is invalid.
    public init(
        _ url: URL,
        token: StoreCredential? = nil,
        namespace: String? = nil,
        readsActiveNode: Bool = false,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        // Vault Agent can require the first field, as a protection from request forgery.
        var fields = ["X-Vault-Request": "true"]
        if let namespace {
            guard StoreService.isPlainPath(namespace) else {
                throw OAuth2Error(.storeFailed, "a Vault namespace must be names with slashes between them")
            }
            fields["X-Vault-Namespace"] = namespace
        }
        if readsActiveNode {
            fields["X-Vault-Forward"] = "active-node"
            fields["X-Vault-Inconsistent"] = "forward-active-node"
        }
        service = try StoreService(
            url,
            access: StoreService.Access(
                fields: fields,
                credential: token.map { ("X-Vault-Token", "", $0) },
                remedy: "the token may have expired, or needs a policy for the data and metadata of the path",
                index: readsActiveNode ? SeenIndex() : nil
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }
}

/// The position in the log of OpenBao or Vault Enterprise that this process has seen.
///
/// Each request repeats it, and a standby node that hasn't reached it forwards the request
/// ([conditional
/// forwarding](https://developer.hashicorp.com/vault/docs/enterprise/consistency#conditional-forwarding-performance-standbys-only)).
/// The text has no meaning for clients, so two can't be compared.
final class SeenIndex: Sendable {
    static let field = "X-Vault-Index"
    private static let maximumSize = 1_024

    private let state = Mutex<(text: String?, count: Int)>((nil, 0))

    /// The text, and the number of changes so far.
    var current: (text: String?, count: Int) { state.withLock { $0 } }

    /// Keeps the index of an answer, unless it's that of a read and another came since its request.
    func note(_ text: String?, ofWrite isWrite: Bool, since count: Int?) {
        guard let text, (1...Self.maximumSize).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return }
        state.withLock { state in
            guard isWrite || state.count == count else { return }
            state = (text, state.count + 1)
        }
    }
}

/// [KV secrets engine of version
/// 2](https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2).
struct VaultStorage: ConditionalStorage {
    private enum State {
        /// The secret doesn't exist.
        case absent
        /// Removed by this store, or deleted or destroyed by another program; the next write names
        /// it.
        case removed(Int)
        case present([UInt8], Int)
    }

    let service: StoreService
    let mount: String
    let path: String

    /// Fits, as base64 and with its envelope, into an entry of 512 KiB, Vault's smallest limit.
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
            // The answer has no index, so the next read could be as old as the last one. This write
            // has.
            if service.hasSeenIndex { try? await configure(name) }
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
                "Vault rejected the request; check the URL, the mount and the namespace"
            )
        }
    }
}
