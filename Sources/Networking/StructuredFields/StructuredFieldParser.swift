/// A parser of structured fields
/// ([RFC 9651 §4.2](https://www.rfc-editor.org/rfc/rfc9651#section-4.2)).
///
/// It reads each byte once, and its limits bound the result.
struct StructuredFieldParser {
    private let bytes: [UInt8]
    let limits: StructuredField.Limits
    var position = 0

    /// Joins the lines of a field.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is too large or isn't
    ///   ASCII.
    init(_ lines: [String], limits: StructuredField.Limits) throws(NetworkError) {
        self.limits = limits
        let count = lines.reduce(max(0, lines.count - 1) * 2) { $0 + $1.utf8.count }
        guard count <= limits.length else { throw Self.excess(limits.length, "bytes") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for (index, line) in lines.enumerated() {
            if index > 0 { bytes += [UInt8(ascii: ","), UInt8(ascii: " ")] }
            bytes += line.utf8
        }
        self.bytes = bytes
        if let index = bytes.firstIndex(where: { $0 >= 0x80 }) {
            position = index
            throw defect("a byte isn't ASCII")
        }
    }

    /// Parses a complete field.
    mutating func whole<Value>(
        _ parse: (inout Self) throws(NetworkError) -> Value
    ) throws(NetworkError) -> Value {
        skip { $0 == UInt8(ascii: " ") }
        let value = try parse(&self)
        skip { $0 == UInt8(ascii: " ") }
        guard next == nil else { throw defect("unexpected text after the value") }
        return value
    }

    // MARK: Bytes

    /// The next byte, or `nil` at the end.
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Returns the next byte and moves beyond it.
    mutating func take() -> UInt8? {
        guard let byte = next else { return nil }
        position += 1
        return byte
    }

    /// Moves beyond the next byte if it's the given one.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Moves beyond all next bytes that match, and returns their range.
    @discardableResult
    mutating func skip(while matches: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while let byte = next, matches(byte) { position += 1 }
        return start..<position
    }

    /// Returns the text of a range that was read.
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    // MARK: Errors

    func defect(_ reason: String) -> NetworkError {
        NetworkError(.invalidField, "a structured field is malformed at byte \(position): \(reason)")
    }

    static func excess(_ limit: Int, _ unit: String) -> NetworkError {
        NetworkError(.invalidField, "a structured field exceeds the limit of \(limit) \(unit)")
    }
}
