// Numbers from tokens, responses, stores and header fields can have any value. Swift's own
// conversions trap on those that don't fit; these saturate. `.ci/rules` rejects the others.

extension Duration {
    /// The limit of numbers from outside, 95 years in seconds: sums and small multiples can't
    /// overflow.
    private static let limit = 3_000_000_000

    /// The nearest duration of at most 95 years in either direction, or zero for NaN.
    package init(clampingSeconds seconds: Double) {
        let limit = Double(Self.limit)
        self = .seconds(seconds.isNaN ? 0 : min(max(seconds, -limit), limit))  // reason: clamped
    }

    /// The nearest duration of at most 95 years in either direction.
    package init(clampingSeconds seconds: some BinaryInteger) {
        self = .seconds(min(max(Int(clamping: seconds), -Self.limit), Self.limit))  // reason: clamped
    }
}

extension FixedWidthInteger {
    /// The nearest number without its fraction that fits, or zero for NaN.
    package init(clamping number: Double) {
        self = Self(exactly: number.rounded(.towardZero)) ?? (number.isNaN ? 0 : number < 0 ? .min : .max)
    }

    /// The next number, or this one if it's the largest.
    package var next: Self { self == .max ? self : self + 1 }
}
