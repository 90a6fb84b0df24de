import OpenSSLCrypto
import Synchronization
import Testing

@Suite("State that several hold") struct SharedStateTests {
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

    /// A place where several tasks can reach it.
    private final class Holder: Sendable {
        private let place = SetOnce<Watched>()
        var number: Int? { place.withObject { $0.number } }
        func set(_ object: Watched) -> Bool { place.set(object) }
    }

    @Test("A place keeps the first object, lends it, and lets go of all of them once")
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

    @Test("Of many tasks one sets the object, and all see that one")
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

    @Test("A box lends its value to change it, and takes it back when the body throws")
    func box() throws {
        struct Failure: Error, Equatable {}
        let box = ExclusiveBox([1])
        let other = box
        box.withValue { $0.append(2) }
        #expect(throws: Failure()) {
            try other.withValue { value in
                value.append(3)
                throw Failure()
            }
        }
        #expect(box.withValue { $0 } == [1, 2, 3])
    }

    @Test("A box that is asked for its value while it is lent ends the process")
    func nested() async {
        await #expect(processExitsWith: .failure) {
            let box = ExclusiveBox(1)
            box.withValue { value in box.withValue { value += $0 } }
        }
    }
}
