import OpenSSLCrypto
import Synchronization
import TestSupport
import Testing

@Suite("Shared state", .computing, .tags(.concurrency)) struct SharedStateTests {
    private final class Watched: Sendable {
        let number: Int
        private let ends: @Sendable () -> Void

        init(_ number: Int, ends: @escaping @Sendable () -> Void) {
            self.number = number
            self.ends = ends
        }

        deinit { ends() }
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .relaxed) }
        func increment() { count.add(1, ordering: .relaxed) }
    }

    /// A holder that several tasks can access.
    private final class Holder: Sendable {
        private let place = SetOnce<Watched>()
        var number: Int? { place.withObject { $0.number } }
        func set(_ object: Watched) -> Bool { place.set(object) }
    }

    @Test("SetOnce keeps the first object and releases every object once")
    func setOnce() {
        let ended = Counter()
        do {
            let holder = Holder()
            #expect(holder.number == nil)
            #expect(holder.set(Watched(1) { ended.increment() }))
            #expect(!holder.set(Watched(2) { ended.increment() }))
            #expect(ended.value == 1)
            #expect(holder.number == 1)
        }
        #expect(ended.value == 2)
    }

    @Test("SetOnce lets one of many tasks set the object that all see")
    func concurrently() async {
        let ended = Counter()
        let count = 200
        do {
            let holder = Holder()
            let results = await withTaskGroup(of: (Bool, Int?).self) { group in
                for number in 0..<count {
                    group.addTask {
                        let isFirst = holder.set(Watched(number) { ended.increment() })
                        return (isFirst, holder.number)
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.filter(\.0).count == 1)
            #expect(Set(results.map(\.1)).count == 1)
            #expect(ended.value == count - 1)
        }
        #expect(ended.value == count)
    }
}
