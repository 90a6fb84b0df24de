import Synchronization

/// A storage for the responses of ``ConditionalRequestInterceptor``.
public protocol HTTPResponseCache: Sendable {
    /// Returns the response stored for a key, if any.
    ///
    /// - Parameter key: The key. It contains no secrets.
    /// - Returns: The response.
    func response(for key: String) async -> CachedResponse?

    /// Stores a response, replacing any previous one for the key.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - key: The key.
    func store(_ response: CachedResponse, for key: String) async
}

/// A response in a cache, revalidated before each use.
public struct CachedResponse: Sendable {
    /// The response.
    public var response: HTTPResponse
    /// The values of the request's fields that the response depends on, by lower-case name
    /// ([RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
    public var varying: [String: String]

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - varying: The values of the request's fields that the response depends on.
    public init(response: HTTPResponse, varying: [String: String]) {
        self.response = response
        self.varying = varying
    }
}

/// A response cache in memory that evicts the least recently used responses.
public final class MemoryResponseCache: HTTPResponseCache {
    private struct Entry {
        var response: CachedResponse
        var lastUse: UInt64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var size = 0
        var clock: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Creates a cache.
    ///
    /// - Parameter capacity: The maximum total size of the bodies in bytes, plus 1 KiB per
    ///   response. The default is 10 MiB.
    public init(capacity: Int = 10 << 20) {
        self.capacity = capacity
    }

    /// Returns the response stored for a key, if any.
    ///
    /// - Parameter key: The key.
    /// - Returns: The response.
    public func response(for key: String) -> CachedResponse? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.lastUse = state.clock
            return state.entries[key]?.response
        }
    }

    /// Stores a response and evicts others if the capacity is exceeded.
    ///
    /// - Parameters:
    ///   - response: The response. It isn't stored if it exceeds the capacity.
    ///   - key: The key.
    public func store(_ response: CachedResponse, for key: String) {
        state.withLock { state in
            if let old = state.entries.removeValue(forKey: key) { state.size -= old.response.cost }
            guard response.cost <= capacity else { return }
            state.clock += 1
            state.entries[key] = Entry(response: response, lastUse: state.clock)
            state.size += response.cost
            while state.size > capacity, let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
                state.entries[oldest.key] = nil
                state.size -= oldest.value.response.cost
            }
        }
    }
}

extension CachedResponse {
    /// The size of the entry; responses without a body use memory, too.
    fileprivate var cost: Int { response.body.count + 1_024 }
}
