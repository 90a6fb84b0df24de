public import Foundation

/// What must not be seen in logs and recordings, and how it is taken out.
///
/// ```swift
/// let redaction = Redaction.standard.adding(headers: ["X-Session"], names: ["pin"])
/// ```
///
/// Removed are the values of credential header fields; of query parameters, form fields and JSON members whose names say that
/// they are secrets; and whatever looks like a JWT, wherever it stands. Names compare without regard to case, `_` and `-`. Bodies are
/// shown only if they can be understood: JSON, forms and plain text.
public struct Redaction: Sendable {
    /// What stands in the place of a secret.
    public static let placeholder = "REDACTED"

    private var headers: Set<String>
    private var names: Set<String>
    private var parameterNames: Set<String>
    /// Whether nothing is taken out.
    let isOff: Bool

    private init(headers: [String], names: [String], parameterNames: [String], isOff: Bool = false) {
        self.headers = Set(headers.map(Self.normalized))
        self.names = Set(names.map(Self.normalized))
        self.parameterNames = Set(parameterNames.map(Self.normalized))
        self.isOff = isOff
    }

    /// The names that credentials and tokens commonly have.
    public static let standard = Redaction(
        headers: [
            "Authorization", "Proxy-Authorization", "Authentication-Info", "Proxy-Authentication-Info", "Cookie",
            "Set-Cookie", "DPoP", "OAuth-Client-Attestation", "OAuth-Client-Attestation-PoP", "API-Key", "X-API-Key",
            "X-Access-Token", "X-Auth-Token", "X-Refresh-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token",
            "X-Goog-API-Key", "X-Vault-Token", "Private-Token",
        ],
        names: [
            "access_token", "refresh_token", "id_token", "token", "subject_token", "actor_token", "logout_token",
            "registration_access_token", "auth_token", "session_token", "security_token", "client_secret", "secret",
            "secret_key", "client_assertion", "assertion", "code_verifier", "device_code", "user_code", "password",
            "passwd", "passphrase", "old_password", "new_password", "api_key", "private_key", "credential",
            "credentials",
            "session_id", "otp", "SAMLResponse", "SAMLRequest", "csrf_token", "X-Amz-Security-Token", "X-Amz-Signature",
            "X-Amz-Credential", "X-Goog-Signature", "X-Goog-Credential", "signature", "authorization",
        ],
        // In JSON these are the names of harmless things.
        parameterNames: ["code", "key", "sig", "auth", "state", "request", "session"]
    )

    /// Takes nothing out.
    ///
    /// - Warning: Whoever reads what is written then has the credentials that are in it.
    public static let insecureNone = Redaction(headers: [], names: [], parameterNames: [], isOff: true)

    /// Takes out more.
    ///
    /// - Parameters:
    ///   - headers: Names of header fields.
    ///   - names: Names of query parameters, form fields and JSON members.
    /// - Returns: The extended redaction.
    public func adding(headers: [String] = [], names: [String] = []) -> Self {
        var copy = self
        copy.headers.formUnion(headers.map(Self.normalized))
        copy.names.formUnion(names.map(Self.normalized))
        return copy
    }

    /// The header fields without secrets.
    ///
    /// The scheme of an `Authorization` stays; in fields that hold URLs, such as `Location`, query secrets are taken out.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The fields in the same order.
    public func redacted(_ fields: HTTPHeaders) -> HTTPHeaders {
        guard !isOff else { return fields }
        return HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.name, value: value($0.value, of: $0.name)) })
    }

    /// The URL without query secrets and user information.
    ///
    /// - Parameter url: The URL.
    /// - Returns: The text of the URL.
    public func redacted(_ url: URL) -> String {
        isOff ? url.absoluteString : redactedURL(url.absoluteString)
    }

    /// The body as text without secrets.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of its `Content-Type`.
    /// - Returns: The text; `nil` if it is no text, or of a kind in which secrets can't be found.
    public func redacted(_ body: Data, contentType: String?) -> String? {
        let type = MediaType(contentType ?? "")
        if isOff { return String(data: body, encoding: .utf8) }
        let octets = [UInt8](body)
        let first = octets.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        guard String(validating: octets, as: UTF8.self) != nil else { return nil }
        if type?.isJSON == true || looksLikeJSON {
            guard let redacted = JSONRedactor(octets, isSecret: { isSecret($0) }).redacted() else { return nil }
            return text(of: redacted)
        }
        switch type?.essence {
        case FormURLEncoded.contentType:
            return text(of: redactedParameters(octets, separators: Self.formSeparators))
        case nil, "text/plain", "text/csv", "text/event-stream":
            return text(of: redactedParameters(octets, separators: Self.textSeparators))
        default:
            return nil
        }
    }

    // MARK: Names

    private func isSecret(_ name: String, isParameter: Bool = false) -> Bool {
        let name = Self.normalized(name)
        return names.contains(name) || (isParameter && parameterNames.contains(name))
    }

    private static func normalized(_ name: String) -> String {
        String(decoding: name.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }, as: UTF8.self)
            .lowercased().asciiOnly
    }

    // MARK: Values

    /// Schemes are shown; a credential without one could begin with anything.
    private static let schemes: Set<String> = [
        "basic", "bearer", "digest", "dpop", "negotiate", "hoba", "mutual", "token",
    ]

    private func value(_ value: String, of name: String) -> String {
        guard !headers.contains(Self.normalized(name)) else {
            // The longest scheme has nine letters.
            guard let space = value.utf8.prefix(10).firstIndex(of: UInt8(ascii: " ")),
                Self.schemes.contains(value[..<space].asciiOnly.lowercased())
            else { return Self.placeholder }
            return "\(value[..<space]) \(Self.placeholder)"
        }
        let isURL = ["location", "contentlocation", "referer"].contains(Self.normalized(name))
        return isURL ? redactedURL(value) : text(of: Array(value.utf8))
    }

    private func redactedURL(_ url: String) -> String {
        var octets = Array(url.utf8)
        if let start = octets.firstRange(of: "://".utf8)?.upperBound {
            let end = octets[start...].firstIndex(where: "/?#".utf8.contains) ?? octets.endIndex
            if let at = octets[start..<end].lastIndex(of: UInt8(ascii: "@")) {
                octets.replaceSubrange(start..<at, with: Self.placeholder.utf8)
            }
        }
        guard let mark = octets.firstIndex(where: "?#".utf8.contains) else { return text(of: octets) }
        let rest = redactedParameters(Array(octets[mark...]), separators: Self.querySeparators)
        return text(of: octets[..<mark] + rest)
    }

    private static let querySeparators = Set("?#&".utf8)
    private static let formSeparators = Set("&".utf8)
    private static let textSeparators = Set("&?#; \t\r\n\"'<>,{}()".utf8)

    /// Takes out the values of `name=value` between separators.
    private func redactedParameters(_ octets: [UInt8], separators: Set<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        var rest = octets[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(where: separators.contains) ?? rest.endIndex
            let pair = rest[..<end]
            if let sign = pair.firstIndex(of: UInt8(ascii: "=")), sign + 1 < end,
                isSecret(Self.decoded(pair[..<sign]), isParameter: true)
            {
                result += pair[...sign] + Array(Self.placeholder.utf8)
            } else {
                result += pair
            }
            if end < rest.endIndex { result.append(rest[end]) }
            rest = rest[end...].dropFirst()
        }
        return result
    }

    private static func decoded(_ name: ArraySlice<UInt8>) -> String {
        let text = String(decoding: name, as: UTF8.self)
        return PercentEncoding.decode(text).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func text(of octets: [UInt8]) -> String {
        String(decoding: Self.withoutJWTs(octets), as: UTF8.self)
    }

    /// Takes out what looks like a JWT: base64url of `{"`, and dots.
    private static func withoutJWTs(_ octets: [UInt8]) -> [UInt8] {
        let start = Array("eyJ".utf8)
        guard octets.count > 20 else { return octets }
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        var index = 0
        while index < octets.count {
            let isAtWord = index == 0 || !isTokenByte(octets[index - 1])
            guard isAtWord, octets[index...].starts(with: start) else {
                result.append(octets[index])
                index += 1
                continue
            }
            let end = octets[index...].firstIndex { !isTokenByte($0) } ?? octets.count
            let word = octets[index..<end]
            result += word.count > 20 && word.contains(UInt8(ascii: ".")) ? Array(placeholder.utf8) : Array(word)
            index = end
        }
        return result
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
    }
}
