package import Foundation

/// A time in seconds since 1970, in the years 1 to 9999
/// ([RFC 7519 §2](https://www.rfc-editor.org/rfc/rfc7519#section-2)).
struct NumericDate: Codable {
    /// The years 1 to 9999 of a calendar date, in seconds since 1970.
    ///
    /// Times outside this range are meaningless in tokens, and code that converts them to an
    /// integer or a calendar date may trap.
    static let range = -62_135_596_800.0..<253_402_300_800.0
    /// The message for a time outside the range.
    static let isOutside = "The time is outside the years 1 to 9999."

    let date: Date

    init(_ date: Date) {
        self.date = date
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let seconds = try container.decode(Double.self)
        guard Self.range.contains(seconds) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.isOutside)
        }
        date = Date(timeIntervalSince1970: seconds)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let seconds = date.timeIntervalSince1970
        guard Self.range.contains(seconds) else {
            throw EncodingError.invalidValue(
                date,
                .init(codingPath: encoder.codingPath, debugDescription: Self.isOutside)
            )
        }
        if let whole = Int64(exactly: seconds) {
            try container.encode(whole)
        } else {
            try container.encode(seconds)
        }
    }
}

extension Date {
    /// Creates the date in the years 1 to 9999 that is nearest to a number of seconds since 1970,
    /// or 1970 if the number is NaN.
    package init(clampingSecondsSince1970 seconds: Double) {
        let limits = (first: NumericDate.range.lowerBound, end: NumericDate.range.upperBound - 1)
        self.init(timeIntervalSince1970: seconds.isNaN ? 0 : min(max(seconds, limits.first), limits.end))
    }
}
