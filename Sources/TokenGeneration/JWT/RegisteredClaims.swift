public import FoundationEssentials
internal import OpenSSLCrypto

/// The registered claims of a token
/// ([RFC 7519 §4.1](https://www.rfc-editor.org/rfc/rfc7519#section-4.1)).
///
/// Times are encoded as NumericDate: seconds since 1970 in UTC, as an integer if possible. Some
/// verifiers reject fractions; ``setTimes(lifetime:issuedAt:)`` sets whole seconds. Decoding
/// rejects wrong JSON types, including `null`.
///
/// ```swift
/// let claims = RegisteredClaims(
///     issuer: "me",
///     expiration: Date(timeIntervalSinceNow: 300)
/// )
/// ```
public struct RegisteredClaims: Codable, Sendable, Hashable {
    /// The issuer of the token, `iss`.
    public var issuer: String?
    /// The subject of the token, `sub`.
    public var subject: String?
    /// The audience of the token, `aud`.
    ///
    /// It's empty if the claim is absent. One value is encoded as a string, several as an array.
    public var audience: [String]
    /// The time from which the token is no longer valid, `exp`.
    public var expiration: Date?
    /// The time from which the token is valid, `nbf`.
    public var notBefore: Date?
    /// The time at which the token was issued, `iat`.
    public var issuedAt: Date?
    /// The ID of the token, `jti`.
    public var jwtID: String?

    /// Creates claims; those that you omit are absent.
    public init(
        issuer: String? = nil,
        subject: String? = nil,
        audience: [String] = [],
        expiration: Date? = nil,
        notBefore: Date? = nil,
        issuedAt: Date? = nil,
        jwtID: String? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.expiration = expiration
        self.notBefore = notBefore
        self.issuedAt = issuedAt
        self.jwtID = jwtID
    }

    private enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case expiration = "exp"
        case notBefore = "nbf"
        case issuedAt = "iat"
        case jwtID = "jti"
    }

    /// Decodes the claims, regardless of the decoder's date strategy.
    ///
    /// A time outside the years 1 to 9999 and an empty `aud` are errors.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys, as type: Value.Type) throws -> Value? {
            container.contains(key) ? try container.decode(type, forKey: key) : nil
        }
        issuer = try value(.issuer, as: String.self)
        subject = try value(.subject, as: String.self)
        audience = try value(.audience, as: AudienceClaim.self)?.members ?? []
        expiration = try value(.expiration, as: NumericDate.self)?.date
        notBefore = try value(.notBefore, as: NumericDate.self)?.date
        issuedAt = try value(.issuedAt, as: NumericDate.self)?.date
        jwtID = try value(.jwtID, as: String.self)
    }

    /// Encodes the claims that aren't absent, regardless of the encoder's date strategy.
    ///
    /// A time outside the years 1 to 9999 is an error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(issuer, forKey: .issuer)
        try container.encodeIfPresent(subject, forKey: .subject)
        if !audience.isEmpty { try container.encode(AudienceClaim(members: audience), forKey: .audience) }
        try container.encodeIfPresent(expiration.map(NumericDate.init), forKey: .expiration)
        try container.encodeIfPresent(notBefore.map(NumericDate.init), forKey: .notBefore)
        try container.encodeIfPresent(issuedAt.map(NumericDate.init), forKey: .issuedAt)
        try container.encodeIfPresent(jwtID, forKey: .jwtID)
    }

    /// Returns whether the times and the code points of the strings are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.strings == right.strings && left.times == right.times
    }

    /// Feeds the claims to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(strings)
        hasher.combine(times)
    }

    private var strings: [ByteComparedString?] {
        ([issuer, subject, jwtID] + audience).map { $0.map(ByteComparedString.init) }
    }

    private var times: [Date?] { [expiration, notBefore, issuedAt] }

    static func read(_ claims: JSONObject) throws(TokenError) -> (RegisteredClaims, ClaimTimes) {
        var registered = RegisteredClaims()
        var times = ClaimTimes()
        for index in claims.indices {
            let member = claims[index]
            // All registered names have three bytes.
            guard member.name.utf8.count == 3 else { continue }
            if member.name.isExactly("iss") {
                registered.issuer = try member.stringClaim()
            } else if member.name.isExactly("sub") {
                registered.subject = try member.stringClaim()
            } else if member.name.isExactly("aud") {
                registered.audience = try member.audienceClaim()
            } else if member.name.isExactly("exp") {
                times.expiration = try member.secondsClaim()
            } else if member.name.isExactly("nbf") {
                times.notBefore = try member.secondsClaim()
            } else if member.name.isExactly("iat") {
                times.issuedAt = try member.secondsClaim()
            } else if member.name.isExactly("jti") {
                registered.jwtID = try member.stringClaim()
            }
        }
        registered.expiration = times.expiration.map(Date.init(timeIntervalSince1970:))
        registered.notBefore = times.notBefore.map(Date.init(timeIntervalSince1970:))
        registered.issuedAt = times.issuedAt.map(Date.init(timeIntervalSince1970:))
        return (registered, times)
    }
}

/// One string or an array of strings ([RFC 7519
/// §4.1.3](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.3)).
private struct AudienceClaim: Codable {
    let members: [String]

    init(members: [String]) {
        self.members = members
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let member = try? container.decode(String.self) {
            members = [member]
        } else {
            members = try container.decode([String].self)
        }
        guard !members.isEmpty else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "aud is an empty array")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let only = members.first, members.count == 1 {
            try container.encode(only)
        } else {
            try container.encode(members)
        }
    }
}

/// In seconds since 1970.
struct ClaimTimes {
    var expiration: Double?
    var notBefore: Double?
    var issuedAt: Double?
}

extension JSONObject {
    package func registeredClaims() throws(TokenError) -> RegisteredClaims {
        try RegisteredClaims.read(self).0
    }

    /// In seconds since 1970.
    func secondsClaim(_ name: String) throws(TokenError) -> Double? {
        guard let index = index(of: name) else { return nil }
        return try self[index].secondsClaim()
    }

    func stringClaim(_ name: String) throws(TokenError) -> String? {
        guard let index = index(of: name) else { return nil }
        return try self[index].stringClaim()
    }
}

extension JSONObject.Member {
    fileprivate func secondsClaim() throws(TokenError) -> Double {
        guard let number = value.number else { throw malformed("a number of seconds since 1970") }
        guard let seconds = number.double, NumericDate.range.contains(seconds) else {
            throw TokenError(
                .malformedClaim,
                "the claim \(TokenError.shown(name)) is a time outside the years 1 to 9999"
            )
        }
        return seconds
    }

    fileprivate func stringClaim() throws(TokenError) -> String {
        guard let string = value.string else { throw malformed("a string") }
        return string
    }

    fileprivate func audienceClaim() throws(TokenError) -> [String] {
        if let audience = value.string { return [audience] }
        guard let elements = value.array, !elements.isEmpty else {
            throw malformed("a string or a non-empty array of strings")
        }
        var audience: [String] = []
        for element in elements {
            guard let member = element.string else {
                throw TokenError(.malformedClaim, "the claim “aud” must contain only strings, not \(element.kind)")
            }
            audience.append(member)
        }
        return audience
    }

    private func malformed(_ expected: String) -> TokenError {
        let found = value.array?.isEmpty ?? false ? "an empty array" : value.kind
        return TokenError(.malformedClaim, "the claim \(TokenError.shown(name)) must be \(expected), not \(found)")
    }
}

/// A time in seconds since 1970, in the years 1 to 9999
/// ([RFC 7519 §2](https://www.rfc-editor.org/rfc/rfc7519#section-2)).
struct NumericDate: Codable {
    /// Times outside this range are meaningless in tokens, and code that converts them to an
    /// integer or a calendar date may trap.
    static let range = -62_135_596_800.0..<253_402_300_800.0
    static let isOutside = "The time is outside the years 1 to 9999."

    let date: Date

    init(_ date: Date) {
        self.date = date
    }

    /// The seconds, rounded down, because some verifiers reject fractions; `nil` outside the range.
    var seconds: Int64? {
        let seconds = date.timeIntervalSince1970
        return Self.range.contains(seconds) ? Int64(exactly: seconds.rounded(.down)) : nil
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
        guard let seconds else {
            throw EncodingError.invalidValue(
                date,
                .init(codingPath: encoder.codingPath, debugDescription: Self.isOutside)
            )
        }
        try container.encode(seconds)
    }
}

extension Date {
    /// The nearest date in the years 1 to 9999, or 1970 for NaN.
    package init(clampingSecondsSince1970 seconds: Double) {
        let limits = (first: NumericDate.range.lowerBound, end: NumericDate.range.upperBound - 1)
        self.init(timeIntervalSince1970: seconds.isNaN ? 0 : min(max(seconds, limits.first), limits.end))
    }
}
