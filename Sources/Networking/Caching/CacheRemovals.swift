import Synchronization

/// Counts removals, so that a response that a request with an unsafe method has overtaken isn't
/// stored.
///
/// The table has a fixed size. URLs that share a counter cause responses not to be stored, rarely.
final class CacheRemovals: Sendable {
    private static let size = 256

    private let counts = Mutex([UInt64](repeating: 0, count: size))

    /// Returns the number of removals for a URL, and perhaps for others.
    func count(for url: String) -> UInt64 { counts.withLock { $0[Self.index(of: url)] } }

    /// Counts a removal for a URL.
    func add(_ url: String) { counts.withLock { $0[Self.index(of: url)] &+= 1 } }

    private static func index(of url: String) -> Int { Int(UInt(bitPattern: url.hashValue) % UInt(size)) }
}
