import OpenSSLCrypto
import TestSupport
import Testing

@Suite("SecureRandom", .computing) struct SecureRandomTests {
    @Test("Returns the requested number of bytes", arguments: [0, 1, 31, 32, 4096, 1 << 20])
    func count(count: Int) throws {
        #expect(try SecureRandom.bytes(count: count).count == count)
    }

    @Test("Rejects counts out of range", arguments: [-1, .min, 1 << 20 + 1, .max])
    func outOfRange(count: Int) {
        #expect(code { _ = try SecureRandom.bytes(count: count) } == .invalidArgument)
    }

    @Test("Returns different bytes each time, with every value") func distinct() throws {
        let values = try Set((0..<1000).map { _ in try SecureRandom.bytes(count: 16) })
        #expect(values.count == 1000)
        #expect(Set(values.joined()).count == 256)
    }

    @Test("Distributes uniform numbers evenly in 0..<1") func uniform() {
        let numbers = (0..<10_000).map { _ in SecureRandom.uniform() }
        #expect(numbers.allSatisfy { (0..<1).contains($0) })
        // Each quarter contains 2500 numbers on average, with a standard deviation of 43.
        for quarter in 0..<4 {
            let count = numbers.count { Int($0 * 4) == quarter }
            #expect((2000...3000).contains(count))
        }
    }
}
