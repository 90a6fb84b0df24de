import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// Values in [Consul's key-value store](https://developer.hashicorp.com/consul/api-docs/kv), below
/// a prefix.
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

    /// Waits with blocking queries.
    ///
    /// The first query has no index. It notices an earlier change, and its answer has the index to
    /// wait on. An index that goes backwards is dropped, as Consul's documentation requires.
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
        OAuth2Error(
            .storeFailed,
            answer.status == 413
                ? "the record is larger than the limit kv_max_value_size of Consul"
                : "Consul rejected the request with status \(answer.status); check the URL of the agent",
            status: answer.status
        )
    }
}
