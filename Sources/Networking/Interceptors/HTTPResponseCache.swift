import Synchronization

/// Where ``ConditionalRequestInterceptor`` keeps responses.
public protocol HTTPResponseCache: Sendable {
    /// The response that was stored under a key, if it is still there.
    ///
    /// - Parameter key: The key. It has no secrets in it.
    /// - Returns: The response.
    func response(for key: String) async -> CachedResponse?

    /// Stores a response, in the place of what was stored under its key.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - key: The key.
    func store(_ response: CachedResponse, for key: String) async
}

/// A response that is kept until the server says that there is another.
public struct CachedResponse: Sendable {
    /// The response.
    public var response: HTTPResponse
    /// The request's fields that the response depends on, by their names in lower case ([RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
    public var varying: [String: String]

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - varying: The request's fields that it depends on.
    public init(response: HTTPResponse, varying: [String: String]) {
        self.response = response
        self.varying = varying
    }
}

/// Keeps responses in memory; those that were used least recently go first.
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

    /// Makes a cache.
    ///
    /// - Parameter capacity: How many octets of bodies are kept; 10 MiB by default.
    public init(capacity: Int = 10 << 20) {
        self.capacity = capacity
    }

    /// The response that was stored under a key, if it is still there.
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

    /// Stores a response, and forgets others if there is no room.
    ///
    /// - Parameters:
    ///   - response: The response; one larger than the capacity is not stored.
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
    /// Entries without a body take room too.
    fileprivate var cost: Int { response.body.count + 1_024 }
}
