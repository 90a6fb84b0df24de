public import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// A token store in Consul's key-value store, which any number of hosts share.
///
/// ```swift
/// let store = try ConsulTokenStore(agent, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Reads are consistent, which Consul's default isn't, and hosts that wait for a change use
/// [blocking queries](https://developer.hashicorp.com/consul/api-docs/features/blocking). Consul
/// doesn't answer the index of a write, so the store reads each record that it has written. A
/// refresh is two writes and at most three reads.
///
/// The ACL token needs a policy with `write` on the prefix. Consul limits values to 512 KB.
///
/// Consul answers that a removal succeeded if the record is already absent. If two hosts remove one
/// version at the same moment, both can be told that they removed it.
///
/// A cluster that is restored from a snapshot has old records. A process that has seen newer ones
/// rejects them with the code `storeDamaged`; remove the prefix after a restoration and sign in
/// again. The store is tested with a double that follows Consul's documentation, not with Consul.
public typealias ConsulTokenStore = SealedTokenStore<ConsulAgent>

extension SealedTokenStore where Place == ConsulAgent {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - agent: The agent.
    ///   - prefix: The prefix of the records' keys: names of ASCII letters, digits, `-`, `.`, `_`
    ///     and `~`, each followed by a slash. The default is `tokens/`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the prefix is invalid.
    public init(_ agent: ConsulAgent, prefix: String = "tokens/", keys: RecordKeys) throws(OAuth2Error) {
        guard prefix.hasSuffix("/"), StoreService.isPlainPath(String(prefix.dropLast())) else {
            throw OAuth2Error(.storeFailed, "the prefix of a Consul store must be names that each end with a slash")
        }
        self.init(
            ConsulStorage(service: agent.service, prefix: prefix),
            keys: keys,
            timeSource: agent.service.timeSource
        )
    }
}

/// A Consul agent or server, reached by its HTTP API.
///
/// ```swift
/// let agent = try ConsulAgent(
///     URL(string: "https://consul.example:8501")!,
///     token: .secret(Secret(token))
/// )
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
/// Only a request that the server rejects with 429 is repeated, once, after the time in
/// `Retry-After` or up to a second.
public struct ConsulAgent: Sendable {
    let service: StoreService

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - url: The URL of an agent or a server, without `/v1`. Plain HTTP is accepted only for
    ///     this machine.
    ///   - token: The ACL token. The default is `nil`, for a cluster without access control.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment.
    public init(
        _ url: URL,
        token: StoreCredential? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        service = try StoreService(
            url,
            access: StoreService.Access(
                credential: token.map { ("X-Consul-Token", "", $0) },
                remedy: "the ACL token needs a policy with write on the key prefix"
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }
}

/// [Consul's key-value store](https://developer.hashicorp.com/consul/api-docs/kv), below a prefix.
struct ConsulStorage: ConditionalStorage {
    /// The number of blocking queries that may end without a change before the caller polls.
    private static let maximumQueries = 8
    /// The longest blocking query, after which a lost connection is noticed.
    private static let longestQuery = Duration.seconds(60)
    /// Without it, a leader that was replaced may answer for a moment.
    private static let consistent = URLQueryItem(name: "consistent", value: nil)

    let service: StoreService
    let prefix: String

    /// Consul's default limit is 512 KiB.
    var maximumSize: Int { 512 << 10 }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        try Self.entry(await service.answer("GET", path(name), query: [Self.consistent]))
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        // The index 0 is the condition that the key doesn't exist.
        if let version, UInt64.version(version) == nil { return nil }
        let index = version ?? "0"
        let answer = try await service.answer("PUT", path(name), query: [Self.cas(index)], body: value)
        guard try Self.succeeded(answer) else { return nil }
        // The answer doesn't have the new index.
        guard let found = try await read(name), found.value == value else {
            throw answer.unexpected(
                "Consul accepted a record but doesn't have it; another host may have replaced it already"
            )
        }
        return found.version
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        // Consul answers true if the key doesn't exist, so this asks first.
        guard UInt64.version(version) != nil, try await read(name)?.version == version else { return false }
        return try Self.succeeded(await service.answer("DELETE", path(name), query: [Self.cas(version)]))
    }

    // The first query has no index. It notices an earlier change, and its answer has the index to
    // wait on. An index that goes backwards is dropped, as Consul's documentation requires.
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool {
        let deadline = service.timeSource.now() + timeout
        var index: UInt64?
        for _ in 0...Self.maximumQueries {
            let left = deadline - service.timeSource.now()
            guard left > .zero else { return true }
            var query = [Self.consistent]
            var limit = service.timeout
            if let index {
                // Consul adds up to a sixteenth of the time. A time of 0 would be 5 minutes.
                let wait = min(left, Self.longestQuery) * 15 / 16
                query.append(URLQueryItem(name: "index", value: String(index)))
                query.append(URLQueryItem(name: "wait", value: "\(max(Int(clamping: wait / .milliseconds(1)), 1))ms"))
                limit += wait * 17 / 16
            }
            let answer = try await service.answer("GET", path(name), query: query, timeout: limit)
            guard try Self.entry(answer)?.version == version else { return true }
            guard let next = answer.headers["X-Consul-Index"].flatMap(UInt64.init), next > 0 else { return false }
            index = if let last = index, next < last { nil } else { next }
        }
        return false
    }

    private func path(_ name: String) -> String { "v1/kv/\(prefix)\(name)" }

    private static func cas(_ index: String) -> URLQueryItem { URLQueryItem(name: "cas", value: index) }

    private static func entry(_ answer: StoreService.Answer) throws(OAuth2Error) -> (value: [UInt8], version: String)? {
        guard answer.headers["X-Consul-KnownLeader"]?.isExactly("false") != true else {
            throw answer.unexpected("the Consul cluster has no leader; check its quorum")
        }
        // An absent key has an empty body; a path that isn't Consul's has a text.
        if answer.status == 404, answer.body.isEmpty { return nil }
        guard answer.status == 200 else { throw rejected(answer) }
        // The body is an array, and JSONObject parses objects.
        let text = Array(#"{"entries":"#.utf8) + answer.body + Array("}".utf8)
        guard let json = try? JSONObject(parsing: Data(text)), json.count == 1,
            let entries = json["entries"]?.array, entries.count == 1,
            let entry = entries[0].object, let index = entry["ModifyIndex"]?.number?.integer, index > 0
        else { throw malformed(answer) }
        guard let value = entry["Value"], value != .null else { return ([], String(index)) }
        guard let bytes = value.string.flatMap({ Data(base64Encoded: $0) }) else { throw malformed(answer) }
        return (Array(bytes), String(index))
    }

    private static func succeeded(_ answer: StoreService.Answer) throws(OAuth2Error) -> Bool {
        guard answer.status == 200 else { throw rejected(answer) }
        let text = String(decoding: answer.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if text.isExactly("true") { return true }
        guard text.isExactly("false") else { throw malformed(answer) }
        return false
    }

    private static func malformed(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.unexpected("the response isn't Consul's; check the URL of the agent")
    }

    private static func rejected(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.rejected(
            answer.status == 413
                ? "the record is larger than the limit kv_max_value_size of Consul"
                : "Consul rejected the request; check the URL of the agent"
        )
    }
}
