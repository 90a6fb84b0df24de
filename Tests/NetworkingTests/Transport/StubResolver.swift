import Foundation
import Glibc
import Synchronization

@testable import Networking

/// A resolver that answers from a table, records its queries and can be paused.
final class StubResolver: Sendable {
    private struct State {
        var isOpen: Bool
        var names: [String] = []
        var families: [CurlTransport.AddressFamily] = []
        var running = 0
        var most = 0
    }

    private let state: Mutex<State>
    private let addresses: [String: [String]]

    /// - Parameters:
    ///   - addresses: The addresses of the names that exist.
    ///   - isOpen: Whether lookups complete at once rather than after ``open()``. The default is
    ///     `true`.
    init(_ addresses: [String: [String]], isOpen: Bool = true) {
        self.addresses = addresses
        state = Mutex(State(isOpen: isOpen))
    }

    /// The names that were looked up, in order.
    var names: [String] { state.withLock(\.names) }
    /// The families that were looked up, in order.
    var families: [CurlTransport.AddressFamily] { state.withLock(\.families) }
    /// The maximum number of concurrent lookups.
    var most: Int { state.withLock(\.most) }

    func open() { state.withLock { $0.isOpen = true } }

    func makeResolver(maximumThreads: Int = 32) -> NameResolver {
        NameResolver(maximumThreads: maximumThreads) { [self] in answer($0) }
    }

    private func answer(_ query: NameResolver.Query) -> NameResolver.Answer {
        state.withLock { state in
            state.names.append(query.name)
            state.families.append(query.family)
            state.running += 1
            state.most = max(state.most, state.running)
        }
        while !state.withLock(\.isOpen) { usleep(500) }
        state.withLock { $0.running -= 1 }
        return addresses[query.name].map(Result.success) ?? .failure(.noAddress("no such name"))
    }
}

/// Waits until a condition is true because of another thread.
func waitUntil(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(1)) }
}

extension CurlTransport.Configuration {
    init(_ resolver: NameResolver, proxy: CurlTransport.ProxySelection = .none) {
        self.init(proxy: proxy)
        self.resolver = resolver
    }
}
