internal import OpenSSLCrypto

extension String {
    /// Compares the code points, as JOSE does ([RFC 7519
    /// §7.3](https://www.rfc-editor.org/rfc/rfc7519#section-7.3)).
    ///
    /// Swift's `==` considers canonically equivalent strings equal: "K" equals U+212A KELVIN SIGN.
    /// It normalizes both strings, in quadratic time for a run of combining characters.
    package func isExactly(_ other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.span.isEqual(to: other.utf8.span)
    }

    package func isExactlyIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { left, right in left.lowercased == right.lowercased }
    }
}

extension UInt8 {
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }

    var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension [UInt8] {
    /// `String.contains` compares characters, which costs quadratic time for a run of combining
    /// ones.
    package func containsRun(of text: String) -> Bool {
        let run = Array(text.utf8)
        guard let first = run.first else { return true }
        var next = 0
        while let start = span.firstOffset(of: first, from: next), start <= count - run.count {
            if self[start...].starts(with: run) { return true }
            next = start + 1
        }
        return false
    }
}

/// A type whose reflections and dumps show only its description, which reveals nothing secret.
package protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
