public import Foundation

/// The rules that remove secrets from logs and recordings.
///
/// ```swift
/// let redaction = Redaction.standard.adding(
///     headers: ["X-Session"],
///     names: ["pin"]
/// )
/// ```
///
/// Redaction removes the values of credential header fields, the values of query parameters, form
/// fields and JSON members with names of secrets, and anything that resembles a JWT. Names are
/// compared ignoring case, `_` and `-`. Only JSON, forms and plain text are shown.
public struct Redaction: Sendable {
    /// The text that replaces a secret.
    public static let placeholder = "REDACTED"

    private var headers: Set<String>
    private var names: Set<String>
    private var parameterNames: Set<String>
    /// A Boolean value that indicates whether redaction is off.
    let isOff: Bool

    private init(headers: [String], names: [String], parameterNames: [String], isOff: Bool = false) {
        self.headers = Set(headers.map(Self.normalized))
        self.names = Set(names.map(Self.normalized))
        self.parameterNames = Set(parameterNames.map(Self.normalized))
        self.isOff = isOff
    }

    /// The redaction of the common names of credentials and tokens.
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
        // In JSON these names are usually harmless.
        parameterNames: ["code", "key", "sig", "auth", "state", "request", "session"]
    )

    /// No redaction.
    ///
    /// - Warning: Every reader of the output gets the credentials in it.
    public static let insecureNone = Redaction(headers: [], names: [], parameterNames: [], isOff: true)

    /// Returns a redaction that removes more.
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

    /// Returns the header fields without secrets.
    ///
    /// The scheme of an `Authorization` is kept. Fields with URLs, such as `Location`, lose only
    /// the secrets in the query.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The fields in the same order.
    public func redacted(_ fields: HTTPHeaders) -> HTTPHeaders {
        guard !isOff else { return fields }
        return HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.name, value: value($0.value, of: $0.name)) })
    }

    /// Returns the URL without user information and secrets in the query.
    ///
    /// - Parameter url: The URL.
    /// - Returns: The text of the URL.
    public func redacted(_ url: URL) -> String {
        isOff ? url.absoluteString : redactedURL(url.absoluteString)
    }

    /// Returns the text of a URL, or of its query, without secrets.
    package func redacted(target: String) -> String {
        isOff ? target : redactedURL(target)
    }

    /// Returns the body as text without secrets.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of its `Content-Type`.
    /// - Returns: The text; `nil` if the body isn't text or its format isn't supported.
    public func redacted(_ body: Data, contentType: String?) -> String? {
        let type = MediaType(contentType ?? "")
        if isOff { return String(data: body, encoding: .utf8) }
        let octets = [UInt8](body)
        let first = octets.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        guard String(validating: octets, as: UTF8.self) != nil else { return nil }
        if type?.isJSON == true || looksLikeJSON {
            // A token request can have the parameters of its form as members.
            let isRequest = octets.firstRange(of: "\"grant_type\"".utf8) != nil
            guard let redacted = JSONRedactor(octets, isSecret: { isSecret($0, isParameter: isRequest) }).redacted()
            else { return nil }
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

    /// The schemes that are shown; any other first word could be part of a credential.
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

    /// Replaces the values of secret `name=value` pairs between separators.
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

    /// Replaces anything that resembles a JWT: base64url of `{"` and dots.
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
