import Foundation
import Networking
import Testing

@Suite("MemoryResponseCache", .serialized)
struct MemoryResponseCacheTests {
    private func stored(_ size: Int, variant: String = "", headers: HTTPHeaders = [:]) -> CachedResponse {
        let url = URL(string: "http://a.example/")!
        return CachedResponse(
            response: HTTPResponse(url: url, status: 200, headers: headers, body: Data(count: size)),
            requestTime: .distantPast,
            responseTime: .distantPast,
            varyingFields: ["a"],
            variant: variant
        )
    }

    private func key(_ url: String, _ credentials: String = "") -> CacheKey {
        CacheKey(url: url, credentials: credentials)
    }

    @Test("Evicts the least recently used response first")
    func eviction() {
        let cache = MemoryResponseCache(capacity: 100_000, maximumResponseSize: 50_000)
        for name in ["a", "b", "c"] { cache.store(stored(30_000), for: key(name)) }
        _ = cache.responses(for: key("a"))
        cache.store(stored(30_000), for: key("d"))
        #expect(["a", "b", "c", "d"].map { cache.responses(for: key($0)).count } == [1, 0, 1, 1])
        cache.store(stored(30_000), for: key("e"))
        #expect(["a", "c", "d", "e"].map { cache.responses(for: key($0)).count } == [0, 1, 1, 1])
    }

    @Test("Never exceeds its capacity")
    func capacity() {
        let cache = MemoryResponseCache(capacity: 50_000)
        for number in 0..<2_000 {
            cache.store(
                stored(number * 37 % 7_000, variant: "\(number % 5)"),
                for: key("\(number % 90)", "\(number % 3)")
            )
            if number % 7 == 0 { cache.removeResponses(forURL: "\(number % 90)") }
            if number % 11 == 0 { _ = cache.responses(for: key("\(number % 80)", "1")) }
            #expect((0...50_000).contains(cache.size))
        }
        for number in 0..<90 { cache.removeResponses(forURL: "\(number)") }
        #expect(cache.size == 0)
    }

    @Test("Counts header fields, and the key")
    func accounting() {
        let cache = MemoryResponseCache()
        cache.store(stored(10, headers: ["A": String(repeating: "a", count: 1_000)]), for: key("x"))
        #expect(cache.size > 2_000)
        let size = cache.size
        cache.store(stored(10, headers: ["A": String(repeating: "a", count: 1_000)]), for: key("x"))
        #expect(cache.size == size)
        cache.removeAll()
        #expect(cache.size == 0 && cache.responses(for: key("x")).isEmpty)
    }

    @Test("Doesn't store a response above its maximum size, and removes the earlier one")
    func maximumSize() {
        let cache = MemoryResponseCache(capacity: 80_000)
        cache.store(stored(100), for: key("a"))
        cache.store(stored(10_000), for: key("a"))
        #expect(cache.responses(for: key("a")).isEmpty && cache.size == 0)
        let none = MemoryResponseCache(capacity: -1)
        none.store(stored(0), for: key("a"))
        #expect(none.size == 0)
    }

    @Test("Keeps 16 variants of a key, and replaces an equal one")
    func variants() {
        let cache = MemoryResponseCache()
        for number in 0..<40 { cache.store(stored(1, variant: "\(number)"), for: key("a")) }
        cache.store(stored(2, variant: "39"), for: key("a"))
        #expect(cache.responses(for: key("a")).map(\.variant) == (24..<40).map { "\($0)" })
        #expect(cache.responses(for: key("a")).last?.response.body.count == 2)
    }

    @Test("Removes the responses of all credentials for a URL")
    func removal() {
        let cache = MemoryResponseCache()
        for credentials in ["", "1", "2"] { cache.store(stored(1), for: key("a", credentials)) }
        cache.store(stored(1), for: key("b"))
        cache.removeResponses(forURL: "a")
        #expect(["", "1", "2"].allSatisfy { cache.responses(for: key("a", $0)).isEmpty })
        #expect(cache.responses(for: key("b")).count == 1)
    }
}
