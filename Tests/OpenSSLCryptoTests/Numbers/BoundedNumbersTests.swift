import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Numbers from outside", .computing)
struct BoundedNumbersTests {
    private static let longest = Duration.seconds(3_000_000_000)

    @Test(
        "Seconds become the nearest duration of at most 95 years",
        arguments: [
            (0, .zero), (1.5, .milliseconds(1_500)), (-1.5, .milliseconds(-1_500)), (3e9, longest), (3.1e9, longest),
            (1e22, longest), (1e300, longest), (.infinity, longest), (-1e22, .zero - longest),
            (-.infinity, .zero - longest), (.nan, .zero), (.leastNonzeroMagnitude, .zero),
        ] as [(Double, Duration)]
    )
    func durations(seconds: Double, expected: Duration) {
        #expect(Duration(clampingSeconds: seconds) == expected)
    }

    @Test("Whole seconds become the nearest duration of at most 95 years")
    func wholeDurations() {
        #expect(Duration(clampingSeconds: 7) == .seconds(7))
        for seconds in [Int64.max, 3_000_000_001] { #expect(Duration(clampingSeconds: seconds) == Self.longest) }
        #expect(Duration(clampingSeconds: UInt64.max) == Self.longest)
        #expect(Duration(clampingSeconds: Int.min) == .zero - Self.longest)
    }

    @Test("Sums and small multiples of the longest duration don't overflow")
    func arithmetic() {
        let now = ContinuousClock.now
        #expect(now + Self.longest * 1_024 > now)
        #expect(now - Self.longest * 1_024 < now)
    }

    @Test(
        "A number becomes the nearest integer towards zero",
        arguments: [
            (0, 0), (1.9, 1), (-1.9, -1), (-0.0, 0), (.nan, 0), (1e22, .max), (-1e22, .min), (.infinity, .max),
            (-.infinity, .min), (0x1p63, .max), (-0x1p63, .min), (0x1p62, 1 << 62),
        ] as [(Double, Int)]
    )
    func integers(number: Double, expected: Int) {
        #expect(Int(clamping: number) == expected)
    }

    @Test("Integers of other sizes have their own limits, and the largest has no successor")
    func otherIntegers() {
        #expect(Int32(clamping: 1e10) == .max)
        #expect(UInt64(clamping: -1.0) == 0)
        #expect(UInt8(clamping: 255.9) == 255)
        #expect(Int.max.next == .max)
        #expect(Int64(41).next == 42)
    }
}
