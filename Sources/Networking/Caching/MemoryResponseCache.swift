import Foundation
import Synchronization

/// A response cache in memory that evicts the least recently used responses.
///
/// The capacity includes header fields and bookkeeping. A key has at most 16 variants, so the time
/// for a lookup or an eviction doesn't depend on what servers send.
public final class MemoryResponseCache: HTTPResponseCache {
    private static let maximumVariants = 16
    /// The estimated size of a response's bookkeeping.
    private static let overhead = 1_024

    /// The variants of a key, in a list ordered by their last use.
    private struct Node {
        var variants: [CachedResponse]
        var size: Int
        /// The key that was used next after this one.
        var newer: CacheKey?
        /// The key that was used last before this one.
        var older: CacheKey?
    }

    private struct State {
        var nodes: [CacheKey: Node] = [:]
        /// The stored keys, by URL.
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

    /// The total size of the stored responses in bytes, including header fields and bookkeeping.
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
