public import Foundation
import OpenSSLCrypto
import Synchronization

/// A storage for the responses of ``CacheInterceptor``.
///
/// The interceptor decides which responses to store and use. A storage only keeps them, and can
/// drop any response at any time. It must be bounded.
public protocol HTTPResponseCache: Sendable {
    /// Returns the responses stored for a key, with all their variants.
    ///
    /// - Parameter key: The key. It contains no secrets, unless the URL does.
    /// - Returns: The responses, in any order.
    func responses(for key: CacheKey) async -> [CachedResponse]

    /// Stores a response, replacing one with the same key, `varyingFields` and `variant`.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - key: The key.
    func store(_ response: CachedResponse, for key: CacheKey) async

    /// Removes all responses for a URL, of all credentials.
    ///
    /// - Parameter url: The ``CacheKey/url`` of their keys.
    func removeResponses(forURL url: String) async
}

/// A response in a cache.
public struct CachedResponse: Sendable {
    /// The response, without the header fields of its connection.
    public var response: HTTPResponse
    /// The time at which the request was sent, by the clock of this machine.
    public var requestTime: Date
    /// The time at which the response arrived, by the clock of this machine.
    public var responseTime: Date
    /// The sorted lowercase names in the response's `Vary`.
    public var varyingFields: [String]
    /// A digest of the request's values of the ``varyingFields``; empty without such fields.
    public var variant: String

    /// Creates a response.
    public init(
        response: HTTPResponse,
        requestTime: Date,
        responseTime: Date,
        varyingFields: [String] = [],
        variant: String = ""
    ) {
        self.response = response
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.varyingFields = varyingFields
        self.variant = variant
    }
}

/// The way in which a cache answered a request.
@nonexhaustive
public enum CacheUse: Hashable, Sendable {
    /// A fresh stored response, without a request to the server.
    case fresh
    /// A stored response that the server confirmed with 304.
    case revalidated
    /// A stale stored response, which `stale-while-revalidate` or the request's `max-stale` allows.
    case stale
    /// A stale stored response in place of the server's failure, which `stale-if-error` allows.
    case staleOnError
    /// A generated 504, because the request has `only-if-cached` and no stored response matches.
    case missing
}

extension HTTPResponse {
    /// A Boolean value that indicates whether a server has answered the request.
    var isFromServer: Bool { cacheUse == nil || cacheUse == .revalidated }
}

/// A response cache in memory that evicts the least recently used responses.
///
/// The capacity includes header fields and bookkeeping. A key has at most 16 variants, so the time
/// for a lookup or an eviction doesn't depend on what servers send.
public final class MemoryResponseCache: HTTPResponseCache {
    private static let maximumVariants = 16
    private static let overhead = 1_024

    /// The variants of a key, in a list ordered by their last use.
    private struct Node {
        var variants: [CachedResponse]
        var size: Int
        var newer: CacheKey?
        var older: CacheKey?
    }

    private struct State {
        var nodes: [CacheKey: Node] = [:]
        var keys: [String: Set<CacheKey>] = [:]
        var newest: CacheKey?
        var oldest: CacheKey?
        var size = 0

        mutating func insert(_ node: Node, for key: CacheKey) {
            nodes[key] = node
            size += node.size
            keys[key.url, default: []].insert(key)
            link(key)
        }

        @discardableResult
        mutating func remove(_ key: CacheKey) -> Node? {
            guard nodes[key] != nil else { return nil }
            unlink(key)
            let node = nodes.removeValue(forKey: key)
            size -= node?.size ?? 0
            keys[key.url]?.remove(key)
            if keys[key.url]?.isEmpty == true { keys[key.url] = nil }
            return node
        }

        mutating func moveToFront(_ key: CacheKey) {
            guard newest != key else { return }
            unlink(key)
            link(key)
        }

        private mutating func link(_ key: CacheKey) {
            nodes[key]?.older = newest
            nodes[key]?.newer = nil
            if let newest { nodes[newest]?.newer = key }
            newest = key
            if oldest == nil { oldest = key }
        }

        private mutating func unlink(_ key: CacheKey) {
            let (newer, older) = (nodes[key]?.newer, nodes[key]?.older)
            if let newer { nodes[newer]?.older = older } else { newest = older }
            if let older { nodes[older]?.newer = newer } else { oldest = newer }
        }
    }

    private let capacity: Int
    private let maximumResponseSize: Int
    private let state = Mutex(State())

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - capacity: The maximum total size in bytes, including header fields and bookkeeping. The
    ///     default is 10 MiB.
    ///   - maximumResponseSize: The maximum size of one response in bytes, including its header
    ///     fields. The default is an eighth of the capacity.
    public init(capacity: Int = 10 << 20, maximumResponseSize: Int? = nil) {
        self.capacity = max(0, capacity)
        self.maximumResponseSize = min(maximumResponseSize ?? self.capacity / 8, self.capacity)
    }

    package var size: Int { state.withLock { $0.size } }

    /// Returns the responses stored for a key.
    public func responses(for key: CacheKey) -> [CachedResponse] {
        state.withLock { state in
            guard let node = state.nodes[key] else { return [] }
            state.moveToFront(key)
            return node.variants
        }
    }

    /// Stores a response unless it exceeds the maximum size, and evicts others if the capacity is
    /// exceeded.
    public func store(_ response: CachedResponse, for key: CacheKey) {
        let size = Self.size(of: response, key)
        state.withLock { state in
            var variants = state.remove(key)?.variants ?? []
            variants.removeAll { $0.variant == response.variant && $0.varyingFields == response.varyingFields }
            if size <= maximumResponseSize { variants.append(response) }
            var sizes = variants.map { Self.size(of: $0, key) }
            var total = sizes.reduce(0, +)
            while variants.count > Self.maximumVariants || (variants.count > 1 && total > capacity / 2) {
                variants.removeFirst()
                total -= sizes.removeFirst()
            }
            guard !variants.isEmpty else { return }
            state.insert(Node(variants: variants, size: total), for: key)
            while state.size > capacity, let oldest = state.oldest { state.remove(oldest) }
        }
    }

    /// Removes all responses for a URL.
    public func removeResponses(forURL url: String) {
        state.withLock { state in
            for key in state.keys[url] ?? [] { state.remove(key) }
        }
    }

    /// Removes all responses, for example when a user signs out.
    public func removeAll() {
        state.withLock { $0 = State() }
    }

    private static func size(of stored: CachedResponse, _ key: CacheKey) -> Int {
        let fields = Array(stored.response.headers) + Array(stored.response.trailers)
        let keySize = key.url.utf8.count + key.credentials.utf8.count + key.content.utf8.count
        return fields.reduce(overhead + stored.response.body.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 64
        }
            + stored.response.url.absoluteString.utf8.count + 2 * keySize
            + stored.varyingFields.reduce(stored.variant.utf8.count) { $0 + $1.utf8.count + 32 }
    }
}

/// The key of the responses that a cache stores for a URL, the credentials of its requests and, for
/// `QUERY`, their content.
public struct CacheKey: Hashable, Sendable {
    /// The absolute URL without its fragment, in one spelling.
    public let url: String
    /// A digest of the request's credentials; empty for a request without credentials.
    public let credentials: String
    /// A digest of a `QUERY` request's content and the fields that describe it; empty for `GET`
    /// ([RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
    public let content: String

    /// Creates a key, by default of a request without content.
    public init(url: String, credentials: String, content: String = "") {
        self.url = url
        self.credentials = credentials
        self.content = content
    }

    private static let maximumURLLength = 8_192

    /// `credentialFields` are the lowercase names of the fields that separate users.
    init?(_ request: HTTPRequest, credentialFields: Set<String>) {
        guard let url = Self.url(request.url) else { return nil }
        let fields = request.headers.map { (name: $0.name.lowercased(), value: $0.value) }
            .filter { credentialFields.contains($0.name) }
            .sorted { $0.name < $1.name }
        guard let credentials = fields.isEmpty ? "" : Self.digest(of: fields.flatMap { [$0.name, $0.value] }),
            let content = request.method == .query ? Self.content(of: request) : ""
        else { return nil }
        self.init(url: url, credentials: credentials, content: content)
    }

    private static func content(of request: HTTPRequest) -> String? {
        let names = ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"]
        return digest(of: names.map { request.headers.combined($0) ?? "" }, request.heldBody ?? Data())
    }

    static func url(_ url: URL) -> String? {
        let text = url.absoluteString
        guard text.utf8.count <= maximumURLLength, text.utf8.allSatisfy({ $0 < 0x80 }), let origin = HTTPOrigin(url),
            url.user == nil, url.password == nil
        else { return nil }
        let reference = URIReference(text)
        let path = reference.path.isEmpty ? "/" : reference.path
        return "\(origin.scheme)://\(origin)\(path)\(reference.query.map { "?\($0)" } ?? "")"
    }

    /// Returns a SHA-256 digest, or `nil` if OpenSSL fails.
    static func digest(of texts: [String], _ content: Data = Data()) -> String? {
        // Each text follows its length, so that different lists have different bytes.
        let bytes = texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) } + content
        let digest = try? bytes.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        return digest.map { Data($0).base64EncodedString() }
    }
}

/// The fields of a request that a response depends on
/// ([RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
enum CacheVariant {
    private static let maximumLength = 1_024
    private static let maximumCount = 16

    /// The fields whose members have no order and no case.
    private static let unorderedFields: Set = ["accept-charset", "accept-encoding", "accept-language"]

    /// Returns the sorted lowercase names in a response's `Vary`; `nil` if it matches no request.
    ///
    /// A response with `*`, a malformed name, or more names than servers need isn't stored.
    static func fields(_ headers: HTTPHeaders) -> [String]? {
        let values = headers.values(for: "Vary")
        guard !values.isEmpty else { return [] }
        guard values.reduce(0, { $0 + $1.utf8.count }) <= maximumLength else { return nil }
        let names = values.flatMap { $0.asciiOnly.split(separator: ",") }
            .map { $0.trimmingHTTPWhitespace.lowercased() }
            .filter { !$0.isEmpty }
        let unique = Set(names)
        guard unique.count <= maximumCount, !unique.contains("*"), unique.allSatisfy(HTTPSyntax.isToken) else {
            return nil
        }
        return unique.sorted()
    }

    /// Returns a digest of the request's values of the given fields; `nil` if OpenSSL fails.
    ///
    /// The values can be secret, so they aren't stored.
    static func of(_ request: HTTPRequest, fields: [String]) -> String? {
        guard !fields.isEmpty else { return "" }
        return CacheKey.digest(
            of: fields.flatMap { name in
                guard let value = request.headers.combined(name) else { return [name] }
                return [name, normalized(value, of: name), ""]
            }
        )
    }

    private static func normalized(_ value: String, of name: String) -> String {
        // White space within a quoted string is significant.
        guard !value.utf8.contains(UInt8(ascii: "\"")) else { return value }
        var members = value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingHTTPWhitespace }
            .filter { !$0.isEmpty }
            .map(String.init)
        if unorderedFields.contains(name) { members = members.map { $0.lowercased() }.sorted() }
        return members.joined(separator: ",")
    }
}
