/// A challenge of a `WWW-Authenticate` header field
/// ([RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)).
public struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme as sent by the server; schemes are case-insensitive.
    public let scheme: String
    /// The `token68` of a scheme without parameters, such as `Negotiate`.
    public let token68: String?
    /// The parameters, with lower-case names; the first of repeated parameters is used.
    public let parameters: [String: String]

    /// Creates a challenge.
    public init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = parameters
    }

    /// Schemes are case-insensitive.
    package func isOfScheme(_ scheme: String) -> Bool {
        self.scheme.equalsIgnoringASCIICase(scheme)
    }

    /// Parses the challenges in a field value, which may combine several fields with commas.
    ///
    /// Commas separate both challenges and parameters: a word without a following `=` starts a
    /// challenge. Parsing returns the challenges before the first malformed one.
    ///
    /// - Parameter value: The value of a `WWW-Authenticate` or `Proxy-Authenticate` field.
    /// - Returns: The challenges, in order.
    public static func parse(_ value: String) -> [AuthenticationChallenge] {
        var parser = ChallengeParser(value)
        return parser.challenges()
    }

    /// Formats challenges as a field value that ``parse(_:)`` reads back unchanged.
    ///
    /// Every parameter is a quoted string, `realm` first and the others sorted by name. Invalid
    /// input is rejected, so nothing in a challenge can end its quotes or line.
    ///
    /// - Parameter challenges: The challenges, in order.
    /// - Returns: The value; `nil` if there are no challenges, a scheme or a name isn't a token, a
    ///   name isn't in lower case, a value has control characters, or parameters are combined with
    ///   a `token68` ([RFC 9110 §11.3](https://www.rfc-editor.org/rfc/rfc9110#section-11.3)).
    public static func format(_ challenges: [AuthenticationChallenge]) -> String? {
        let parts = challenges.compactMap(\.text)
        guard parts.count == challenges.count, !parts.isEmpty else { return nil }
        return parts.joined(separator: ", ")
    }

    private var text: String? {
        guard HTTPSyntax.isToken(scheme) else { return nil }
        if let token68 {
            guard parameters.isEmpty, HTTPSyntax.isToken68(token68[...]) else { return nil }
            return "\(scheme) \(token68)"
        }
        var fields: [String] = []
        let isBefore = { (left: String, right: String) in right != "realm" && (left == "realm" || left < right) }
        for (name, value) in parameters.sorted(by: { isBefore($0.key, $1.key) }) {
            guard HTTPSyntax.isToken(name), name == name.lowercased(), HTTPSyntax.isFieldValue(value) else {
                return nil
            }
            fields.append("\(name)=\(HTTPSyntax.quotedString(value))")
        }
        return fields.isEmpty ? scheme : "\(scheme) \(fields.joined(separator: ", "))"
    }
}

/// A parser that stops at malformed input.
private struct ChallengeParser {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func challenges() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        skipSeparators()
        while let challenge = challenge() {
            challenges.append(challenge)
            skipSeparators()
        }
        return challenges
    }

    private mutating func challenge() -> AuthenticationChallenge? {
        guard let scheme = token() else { return nil }
        guard next?.isHTTPWhitespace == true else { return AuthenticationChallenge(scheme: scheme) }
        skipSpaces()
        if let token68 = token68() {
            return AuthenticationChallenge(scheme: scheme, token68: token68)
        }
        var parameters: [String: String] = [:]
        while let (name, value) = parameter() {
            if parameters[name] == nil { parameters[name] = value }
            let end = position
            skipSpaces()
            guard next == UInt8(ascii: ",") else { break }
            skipSeparators()
            if !isAtParameter {
                position = end
                break
            }
        }
        return AuthenticationChallenge(scheme: scheme, parameters: parameters)
    }

    /// Tells a parameter from another challenge.
    private var isAtParameter: Bool {
        var ahead = self
        guard ahead.token() != nil else { return false }
        ahead.skipSpaces()
        return ahead.next == UInt8(ascii: "=")
    }

    private mutating func parameter() -> (name: String, value: String)? {
        let start = position
        guard let name = token() else { return nil }
        skipSpaces()
        guard next == UInt8(ascii: "=") else {
            position = start
            return nil
        }
        position += 1
        skipSpaces()
        guard let value = next == UInt8(ascii: "\"") ? quotedString() : token() else {
            position = bytes.count
            return nil
        }
        return (name.lowercased(), value)
    }

    /// A comma or the end of the text must follow.
    private mutating func token68() -> String? {
        let start = position
        let digits = text(while: HTTPSyntax.isToken68Byte)
        let padding = text { $0 == UInt8(ascii: "=") }
        skipSpaces()
        guard !digits.isEmpty, next == nil || next == UInt8(ascii: ",") else {
            position = start
            return nil
        }
        return digits + padding
    }

    private mutating func quotedString() -> String? {
        position += 1
        var content: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = next else { return nil }
                content.append(escaped)
                position += 1
            default:
                content.append(byte)
            }
        }
        return nil
    }

    private mutating func token() -> String? {
        let token = text(while: HTTPSyntax.isTokenByte)
        return token.isEmpty ? nil : token
    }

    private mutating func skipSpaces() { _ = text(while: \.isHTTPWhitespace) }

    private mutating func skipSeparators() { _ = text { $0.isHTTPWhitespace || $0 == UInt8(ascii: ",") } }

    private mutating func text(while matches: (UInt8) -> Bool) -> String {
        let start = position
        while let byte = next, matches(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }
}
