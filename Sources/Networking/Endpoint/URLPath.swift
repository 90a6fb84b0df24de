public import Foundation

/// The path of an endpoint, below its base URL.
///
/// What is written in a literal is the path's structure; what is interpolated is a value, which can't change it:
///
/// ```swift
/// let path: URLPath = "/users/\(name)/posts"   // name "a/b?c" → /users/a%2Fb%3Fc/posts
/// ```
///
/// Text is never taken for percent-encoded: a `%` becomes `%25`. Who has an encoded path says so: ``raw(_:)``.
///
/// Making the request fails with ``NetworkError/Code/invalidRequest``, and nothing is sent, if
/// - a segment is `.` or `..`, or a value has one between slashes: servers resolve them, many even when the slash is escaped,
///   and the request would reach another resource ([RFC 3986 §5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4));
/// - a segment consists of values that are all empty: `/users/` is another resource than `/users/42`;
/// - a raw path is not percent-encoded properly.
public struct URLPath: Sendable, Hashable {
    /// The percent-encoded segments between the slashes, the first without a leading one; empty for no path.
    private(set) var encoded: String
    /// Why no request can be made with this path.
    private(set) var defect: String?

    /// Makes a path of text in which slashes separate segments.
    ///
    /// - Parameter text: The path, not percent-encoded, with or without a leading slash. Text from outside should be
    ///   interpolated as a value instead.
    public init(_ text: String) {
        var interpolation = StringInterpolation(literalCapacity: text.utf8.count, interpolationCount: 0)
        interpolation.appendLiteral(text)
        self.init(stringInterpolation: interpolation)
    }

    /// Makes a path of segments, each of which is a value.
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

    /// Takes a path that is percent-encoded already.
    ///
    /// - Parameter path: The path, with or without a leading slash; only characters that a path may have.
    /// - Returns: The path as it is.
    public static func raw(_ path: String) -> Self {
        var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: 1)
        interpolation.appendInterpolation(raw: path)
        return Self(stringInterpolation: interpolation)
    }

    /// No path: the base URL is the whole URL.
    public static var none: Self { Self("") }

    /// Whether there is no path, so that the base URL stays as it is.
    var isEmpty: Bool { encoded.isEmpty }

    /// Appends the path to the path of a base URL, with exactly one slash between them.
    func appended(to base: Substring) -> String {
        guard !isEmpty else { return String(base) }
        let start = base.utf8.last == UInt8(ascii: "/") ? base.dropLast() : base
        let rest = encoded.utf8.first == UInt8(ascii: "/") ? encoded.dropFirst() : encoded[...]
        return "\(start)/\(rest)"
    }
}

extension URLPath: ExpressibleByStringInterpolation {
    /// Makes a path of a literal.
    ///
    /// - Parameter value: The literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Makes a path of a literal with values in it.
    ///
    /// - Parameter stringInterpolation: The literal's parts.
    public init(stringInterpolation: StringInterpolation) {
        var parts = stringInterpolation
        parts.endSegment()
        encoded = parts.encoded
        defect = parts.defect
    }

    /// Collects the parts of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var encoded = ""
        fileprivate var defect: String?
        /// The current segment as the server reads it, and what it is made of.
        private var segment: [UInt8] = []
        private var hasValue = false

        /// Makes an empty collection.
        ///
        /// - Parameters:
        ///   - literalCapacity: About how much text there is.
        ///   - interpolationCount: How many values there are.
        public init(literalCapacity: Int, interpolationCount: Int) {
            encoded.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        /// Adds structure.
        ///
        /// - Parameter literal: Text in which slashes separate segments.
        public mutating func appendLiteral(_ literal: String) {
            appendSegments(of: literal) { text in
                (PercentEncoding.encode(text, keeping: PercentEncoding.isPathCharacter), Array(text.utf8))
            }
        }

        /// Adds a value.
        ///
        /// - Parameter value: Text that becomes, or becomes part of, one segment.
        public mutating func appendInterpolation(_ value: some StringProtocol) {
            hasValue = true
            let octets = Array(value.utf8)
            let parts = octets.split(omittingEmptySubsequences: false) {
                $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
            }
            if parts.count > 1, parts.contains(where: { Self.isDots($0) }) {
                defect = "a value in the path has a “.” or “..” between slashes, which would lead to another resource"
            }
            segment += octets
            encoded += PercentEncoding.encode(value)
        }

        /// Adds a number.
        ///
        /// - Parameter value: The number, written in decimal digits.
        public mutating func appendInterpolation(_ value: some BinaryInteger) {
            appendInterpolation(String(value))
        }

        /// Adds a UUID.
        ///
        /// - Parameter value: The UUID, written in its upper-case form.
        public mutating func appendInterpolation(_ value: UUID) {
            appendInterpolation(value.uuidString)
        }

        /// Adds the raw value of an enumeration or another type of text.
        ///
        /// - Parameter value: What has a raw value, which becomes, or becomes part of, one segment.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: StringProtocol {
            appendInterpolation(value.rawValue)
        }

        /// Adds text that is percent-encoded already.
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
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if index > 0 {
                    endSegment()
                    encoded += "/"
                }
                let (written, octets) = reading(part)
                encoded += written
                segment += octets
            }
        }

        fileprivate mutating func endSegment() {
            if Self.isDots(segment) {
                defect = "a segment of the path is “.” or “..”, which would lead to another resource"
            } else if segment.isEmpty, hasValue {
                defect = "a segment of the path is a value that is empty, which would lead to another resource"
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
