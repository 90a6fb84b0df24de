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
/// fields and JSON members with names of secrets, an OAuth server's `error_description` and
/// `error_uri`, and anything that resembles a JWT. Names are compared ignoring case, `_` and `-`.
/// Header fields whose names end with `-Token`, `-Key`, `-Secret` or `-Password` count as
/// credentials, except `Idempotency-Key`. Only JSON, forms, event streams and plain text are shown.
///
/// ``RequestLogger``, ``ExchangeRecorder`` and ``ReplayTransport`` also remove the credentials
/// of a request wherever its response repeats them, if they have at least eight bytes.
///
/// - Important: Redaction can't find a secret without one of these signs: an opaque token in a path
///   or in prose, a member with a name of your own, or JSON within a string or another encoding.
///   Add your names with ``adding(headers:names:)``, and protect logs and recordings.
public struct Redaction: Sendable {
    package static let placeholder = "REDACTED"

    private var headers: Set<String>
    private var names: Set<String>
    private var parameterNames: Set<String>
    /// The values that are removed wherever they occur, the longest first.
    private var values: [[UInt8]] = []
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
            "secret_key", "secret_access_key", "web_identity_token", "client_assertion", "assertion", "code_verifier",
            "device_code", "user_code", "password",
            "passwd", "passphrase", "old_password", "new_password", "api_key", "private_key", "credential",
            "credentials",
            "session_id", "otp", "SAMLResponse", "SAMLRequest", "csrf_token", "X-Amz-Security-Token", "X-Amz-Signature",
            "X-Amz-Credential", "X-Goog-Signature", "X-Goog-Credential", "signature", "authorization",
            // A server's text about an OAuth request may repeat a credential in any encoding.
            "error_description", "error_uri",
        ],
        // In JSON these names are usually harmless.
        parameterNames: ["code", "key", "sig", "auth", "state", "request", "session", "jsessionid", "phpsessid"]
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
    /// The scheme of an `Authorization` is kept. Fields with URLs, such as `Location` or `Link`,
    /// lose only the secrets in the URLs.
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

    /// Redacts the text of a URL, or of its query.
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
            if let redacted = JSONRedactor(octets, isSecret: { isSecret($0, isParameter: isRequest) }).redacted() {
                return text(of: redacted)
            }
            // Other text can begin with a bracket, too.
            if type?.isJSON == true { return nil }
        }
        switch type?.essence {
        case FormURLEncoded.contentType:
            return text(of: redactedParameters(octets, separators: Self.formSeparators))
        case nil, "text/plain", "text/csv", "text/event-stream":
            return redactedText(octets)
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

    private func isCredential(_ field: String) -> Bool {
        let name = Self.normalized(field)
        if headers.contains(name) { return true }
        let spelling = field.asciiOnly.lowercased()
        return name != "idempotencykey" && Self.credentialSuffixes.contains(where: spelling.hasSuffix)
    }

    private static let credentialSuffixes = ["-", "_"].flatMap { separator in
        ["token", "key", "secret", "password"].map { separator + $0 }
    }

    private func value(_ value: String, of name: String) -> String {
        guard !isCredential(name) else {
            // The longest scheme has nine letters.
            guard let space = value.utf8.prefix(10).firstIndex(of: UInt8(ascii: " ")),
                Self.schemes.contains(value[..<space].asciiOnly.lowercased())
            else { return Self.placeholder }
            return "\(value[..<space]) \(Self.placeholder)"
        }
        let isURL = ["location", "contentlocation", "referer"].contains(Self.normalized(name))
        if isURL { return redactedURL(value) }
        let octets = Array(value.utf8)
        let mayHaveURL = octets.contains(where: "?#".utf8.contains) || octets.firstRange(of: "://".utf8) != nil
        return mayHaveURL || octets.contains(UInt8(ascii: ";")) && octets.contains(UInt8(ascii: "/"))
            ? redactedText(octets) : text(of: octets)
    }

    private func redactedURL(_ url: String) -> String {
        let octets = Self.withoutUserInformation(Array(url.utf8))
        let mark = octets.firstIndex(where: "?#".utf8.contains) ?? octets.endIndex
        let path = redactedParameters(Array(octets[..<mark]), separators: Self.pathSeparators)
        return text(of: path + redactedParameters(Array(octets[mark...]), separators: Self.querySeparators))
    }

    /// Redacts text that may contain JSON, URLs and forms.
    private func redactedText(_ octets: [UInt8]) -> String {
        let octets = JSONRedactor(octets) { isSecret($0) }.redactedWithinText()
        let parameters = redactedParameters(Self.withoutUserInformation(octets), separators: Self.textSeparators)
        return text(of: parameters)
    }

    private static func withoutUserInformation(_ octets: [UInt8]) -> [UInt8] {
        let mark = Array("://".utf8)
        guard octets.contains(UInt8(ascii: "@")) else { return octets }
        var result: [UInt8] = []
        var rest = octets[...]
        while let start = rest.firstRange(of: mark)?.upperBound {
            let end = rest[start...].firstIndex(where: "/?# \t\r\n\"'<>".utf8.contains) ?? rest.endIndex
            result += rest[..<start]
            if let at = rest[start..<end].lastIndex(of: UInt8(ascii: "@")) {
                result += Array(placeholder.utf8) + rest[at..<end]
            } else {
                result += rest[start..<end]
            }
            rest = rest[end...]
        }
        return result + rest
    }

    private static let querySeparators = Set("?#&".utf8)
    private static let pathSeparators = Set("/;".utf8)
    private static let formSeparators = Set("&".utf8)
    private static let textSeparators = Set("&?#; \t\r\n\"'<>,{}()".utf8)

    /// Replaces the values of secret `name=value` pairs between separators, and reports each.
    private func redactedParameters(
        _ octets: [UInt8],
        separators: Set<UInt8>,
        report: ([UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        var rest = octets[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(where: separators.contains) ?? rest.endIndex
            let pair = rest[..<end]
            if let sign = pair.firstIndex(of: UInt8(ascii: "=")), sign + 1 < end,
                isSecret(Self.decoded(String(decoding: pair[..<sign], as: UTF8.self)), isParameter: true)
            {
                report(Array(pair[(sign + 1)...]))
                result += pair[...sign] + Array(Self.placeholder.utf8)
            } else {
                result += pair
            }
            if end < rest.endIndex { result.append(rest[end]) }
            rest = rest[end...].dropFirst()
        }
        return result
    }

    static func decoded(_ name: some StringProtocol) -> String {
        PercentEncoding.decode(name).map { String(decoding: $0, as: UTF8.self) } ?? String(name)
    }

    private func text(of octets: [UInt8]) -> String {
        String(decoding: Self.withoutJWTs(withoutValues(octets)), as: UTF8.self)
    }

    private func withoutValues(_ octets: [UInt8]) -> [UInt8] {
        guard !values.isEmpty else { return octets }
        let starts = Set(values.compactMap(\.first))
        var result: [UInt8] = []
        result.reserveCapacity(octets.count)
        var index = 0
        // Similar values and texts would take quadratic time. The rest of such a text isn't shown.
        var budget = Self.comparisonsPerByte * (octets.count + 4_096)
        while index < octets.count {
            guard budget > 0 else { return result + Array(Self.placeholder.utf8) }
            if starts.contains(octets[index]), let length = lengthOfValue(at: index, in: octets, &budget) {
                result += Array(Self.placeholder.utf8)
                index += length
            } else {
                result.append(octets[index])
                index += 1
            }
        }
        return result
    }

    private static let comparisonsPerByte = 256

    private func lengthOfValue(at index: Int, in octets: [UInt8], _ budget: inout Int) -> Int? {
        for value in values {
            let limit = min(value.count, octets.count - index)
            var length = 0
            while length < limit, octets[index + length] == value[length] { length += 1 }
            budget -= length + 1
            if length == value.count { return length }
        }
        return nil
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

// The credentials of a request, which a server may repeat.
extension Redaction {
    /// The shortest value that's removed wherever it occurs; a shorter one could be part of a word.
    private static let minimumLength = 8

    /// Returns a redaction that also removes the credentials of a request, in any spelling that a
    /// response is likely to use.
    package func removingCredentials(of request: HTTPRequest) -> Self {
        guard !isOff else { return self }
        var found: Set<[UInt8]> = []
        func add(_ value: some Sequence<UInt8>) {
            let value = Array(value)
            let decoded = FormURLEncoded.decodeLeniently(value)
            for text in [value, decoded] where text.count >= Self.minimumLength {
                found.insert(text)
                found.insert(Array(PercentEncoding.encode(octets: text, keeping: PercentEncoding.isUnreserved).utf8))
                found.insert(text.flatMap { $0 == UInt8(ascii: "/") ? Array(#"\/"#.utf8) : [$0] })
            }
        }
        for field in request.headers where isCredential(field.name) {
            add(field.value.utf8)
            // The text after the scheme, and the values of cookies.
            add(field.value.utf8.drop { $0 != UInt8(ascii: " ") }.dropFirst())
            for part in field.value.utf8.split(separator: UInt8(ascii: ";"))
            where Self.normalized(field.name) == "cookie" {
                add(part.drop { $0 != UInt8(ascii: "=") }.dropFirst())
            }
            guard field.value.asciiOnly.lowercased().hasPrefix("basic ") else { continue }
            let pair = Data(base64Encoded: String(Substring(field.value.utf8.dropFirst(6)))) ?? Data()
            add(pair)
            add(pair.drop { $0 != UInt8(ascii: ":") }.dropFirst())
        }
        let text = Array(request.url.absoluteString.utf8)
        _ = redactedParameters(text, separators: Self.querySeparators.union(Self.pathSeparators), report: add)
        _ = redactedParameters(text, separators: Self.querySeparators, report: add)
        if let body = request.heldBody {
            let octets = [UInt8](body)
            _ = JSONRedactor(octets) { isSecret($0, isParameter: true) }.redactedWithinText(report: add)
            _ = redactedParameters(octets, separators: Self.formSeparators, report: add)
        }
        var copy = self
        copy.values = found.sorted { $0.count > $1.count }
        return copy
    }

    /// Removes the values of this redaction only, as from the text of an error.
    func redacted(text: String) -> String {
        isOff || values.isEmpty ? text : self.text(of: Array(text.utf8))
    }
}
