public import Foundation

/// The path of an endpoint, below its base URL.
///
/// The literal text is the path's structure. An interpolated value can't change that structure:
///
/// ```swift
/// // If `name` is "a/b?c", the path is /users/a%2Fb%3Fc/posts.
/// let path: URLPath = "/users/\(name)/posts"
/// ```
///
/// Text is never treated as percent-encoded: a `%` becomes `%25`. For text that already is, use
/// `"\(raw: path)"`.
///
/// Creating the request fails with ``NetworkError/Code/invalidRequest``, and nothing is sent, if
/// - a segment is `.` or `..`, or a value contains one between slashes: servers resolve them, many
///   even if the slash is escaped, and the request would reach another resource
///   ([RFC 3986 §5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4));
/// - all values of a segment are empty: `/users/` is a different resource than `/users/42`;
/// - a raw path is not percent-encoded properly.
public struct URLPath: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// With a leading slash if the text has one; empty for no path.
    private(set) var encoded: String
    private(set) var defect: String?

    /// Creates a path from text in which slashes separate segments.
    ///
    /// - Parameter text: The path, not percent-encoded, with or without a leading slash.
    ///   Interpolate untrusted text as a value instead.
    public init(_ text: String) {
        var interpolation = StringInterpolation(literalCapacity: text.utf8.count, interpolationCount: 0)
        interpolation.appendLiteral(text)
        self.init(stringInterpolation: interpolation)
    }

    /// Creates a path from segments, each of which is a value.
    ///
    /// - Parameter segments: The segments, not percent-encoded; a slash in one is escaped.
    public init(segments: [String]) {
        var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: segments.count)
        for (index, segment) in segments.enumerated() {
            if index > 0 { interpolation.appendLiteral("/") }
            interpolation.appendInterpolation(segment)
        }
        self.init(stringInterpolation: interpolation)
    }

    /// Puts exactly one slash between the paths.
    func appended(to base: String) -> String {
        guard !encoded.isEmpty else { return base }
        let start = base.utf8.last == UInt8(ascii: "/") ? base.dropLast() : base[...]
        let rest = encoded.utf8.first == UInt8(ascii: "/") ? encoded.dropFirst() : encoded[...]
        return "\(start)/\(rest)"
    }

    /// Creates a path from a literal.
    ///
    /// - Parameter value: The literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// Creates a path from a literal with interpolated values.
    ///
    /// - Parameter stringInterpolation: The literal's parts.
    public init(stringInterpolation: StringInterpolation) {
        var parts = stringInterpolation
        parts.endSegment()
        encoded = parts.encoded
        defect = parts.defect
    }

    /// The builder for a path literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var encoded = ""
        fileprivate var defect: String?
        private var segment: [UInt8] = []
        private var hasValue = false

        /// Creates an empty builder.
        ///
        /// - Parameters:
        ///   - literalCapacity: The approximate size of the literal text.
        ///   - interpolationCount: The number of values.
        public init(literalCapacity: Int, interpolationCount: Int) {
            encoded.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        /// Appends literal text, which is the path's structure.
        ///
        /// - Parameter literal: Text in which slashes separate segments.
        public mutating func appendLiteral(_ literal: String) {
            appendSegments(of: literal) { text in
                (PercentEncoding.encode(text, keeping: PercentEncoding.isPathCharacter), Array(text.utf8))
            }
        }

        /// Appends a value.
        ///
        /// - Parameter value: Text that becomes a segment or a part of one.
        public mutating func appendInterpolation(_ value: some StringProtocol) {
            hasValue = true
            let octets = Array(value.utf8)
            let parts = octets.split(omittingEmptySubsequences: false) {
                $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
            }
            if parts.count > 1, parts.contains(where: { Self.isDots($0) }) {
                defect = "a value in the path has “.” or “..” between slashes, which would address another resource"
            }
            segment += octets
            encoded += PercentEncoding.encode(value)
        }

        /// Appends a number.
        ///
        /// - Parameter value: The number, written in decimal.
        public mutating func appendInterpolation(_ value: some BinaryInteger) {
            appendInterpolation(String(value))
        }

        /// Appends a UUID.
        ///
        /// - Parameter value: The UUID, written in upper case.
        public mutating func appendInterpolation(_ value: UUID) {
            appendInterpolation(value.uuidString)
        }

        /// Appends the raw value of an enumeration or another textual type.
        ///
        /// - Parameter value: The value, whose raw value becomes a segment or a part of one.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: StringProtocol {
            appendInterpolation(value.rawValue)
        }

        /// Appends text that is already percent-encoded.
        ///
        /// - Parameter raw: The text, in which slashes separate segments.
        public mutating func appendInterpolation(raw: String) {
            guard PercentEncoding.isEncoded(raw, allowing: { PercentEncoding.isPathCharacter($0) || $0 == 0x2F }) else {
                defect = "the raw path has a character that must be percent-encoded, or a malformed escape"
                return
            }
            appendSegments(of: raw) { text in (String(text), PercentEncoding.decode(text) ?? []) }
        }

        private mutating func appendSegments(
            of text: String,
            reading: (Substring) -> (encoded: String, octets: [UInt8])
        ) {
            // By bytes: a slash and a following combining mark form one character.
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if index > 0 {
                    endSegment()
                    encoded += "/"
                }
                let (written, octets) = reading(Substring(part))
                encoded += written
                segment += octets
            }
        }

        fileprivate mutating func endSegment() {
            if Self.isDots(segment) {
                defect = "a segment of the path is “.” or “..”, which would address another resource"
            } else if segment.isEmpty, hasValue {
                defect = "a segment of the path is an empty value, which would address another resource"
            }
            segment = []
            hasValue = false
        }

        private static func isDots(_ octets: some Sequence<UInt8>) -> Bool {
            let dot = UInt8(ascii: ".")
            return octets.elementsEqual([dot]) || octets.elementsEqual([dot, dot])
        }
    }
}
