extension Span<UInt8> {
    /// Returns the index of the first occurrence of a byte, or the count.
    func firstIndex(of byte: UInt8) -> Int {
        var index = 0
        while index < count, self[index] != byte { index += 1 }
        return index
    }

    /// Returns the range without white space at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isHTTPWhitespace { start += 1 }
        while end > start, self[end - 1].isHTTPWhitespace { end -= 1 }
        return start..<end
    }

    /// Returns UTF-8 text, or ISO 8859-1 if the bytes aren't UTF-8, so that no message is lost.
    func text(_ range: Range<Int>) -> String {
        if let valid = try? UTF8Span(validating: extracting(range)) { return String(copying: valid) }
        var text = ""
        for index in range { text.unicodeScalars.append(Unicode.Scalar(self[index])) }
        return text
    }
}

extension UInt8 {
    var isHTTPWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
