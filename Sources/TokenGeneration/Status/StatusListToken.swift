public import FoundationEssentials
import OpenSSLCrypto

/// A signed status list: a JWT with the type `statuslist+jwt` ([Token Status List
/// §5.1](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-5.1)).
///
/// An issuer signs it again after each change, and before it expires:
///
/// ```swift
/// let token = StatusListToken(
///     list,
///     uri: "https://id.example/statuslists/1",
///     expiration: Date(timeIntervalSinceNow: 86_400),
///     timeToLive: .seconds(300)
/// )
/// let text = try token.signed(by: service)
/// ```
///
/// A verifier gets it from the URI in a token's ``StatusListReference``:
///
/// ```swift
/// let verifier = JWTVerifier(
///     keys: keys,
///     policy: .statusList(uri: reference.uri, issuer: "https://id.example")
/// )
/// let status = try StatusListToken(verifier.verify(text))
///     .status(of: reference)
/// ```
public struct StatusListToken: Sendable {
    /// The media type of a status list token.
    public static let mediaType = "application/statuslist+jwt"
    static let type = "statuslist+jwt"

    /// The statuses, `status_list`.
    public let list: StatusList
    /// The URI of the token, `sub`, exactly as in the references to it.
    public let uri: String
    /// The issuer of the token, `iss`, if any.
    public let issuer: String?
    /// The time at which the token was issued, `iat`; by default now.
    public let issuedAt: Date
    /// The time from which the token must not be used, `exp`, if any.
    ///
    /// Without it, an attacker can keep verifiers from learning of revocations, by answering with
    /// the same token forever.
    public let expiration: Date?
    /// The maximum time to keep the token before fetching it again, `ttl`; without it, the
    /// verifiers decide.
    public let timeToLive: Duration?

    /// Creates a token to sign.
    public init(
        _ list: StatusList,
        uri: String,
        issuer: String? = nil,
        issuedAt: Date = Date(),
        expiration: Date? = nil,
        timeToLive: Duration? = nil
    ) {
        self.list = list
        self.uri = uri
        self.issuer = issuer
        self.issuedAt = issuedAt
        self.expiration = expiration
        self.timeToLive = timeToLive
    }

    /// Returns the signed token.
    ///
    /// - Parameter signingService: The service that signs, with a key that verifiers trust for the
    ///   issuer's status lists.
    /// - Returns: The token, for responses with the ``mediaType``.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if the URI is empty, a time is
    ///   outside the years 1 to 9999, or the time to live isn't positive; `unsupportedAlgorithm` if
    ///   the system has no zlib; as `JWTGenerator.token()` does.
    public func signed(by signingService: any LocalSigningService) throws -> String {
        guard !uri.isEmpty else { throw TokenError(.unencodableContent, "the URI of the status list token is empty") }
        var claims: JSONObject = ["sub": .string(uri), "status_list": .object(try list.json())]
        claims["iss"] = issuer.map(JSONValue.string)
        claims["iat"] = try Self.time(issuedAt, "iat")
        if let expiration { claims["exp"] = try Self.time(expiration, "exp") }
        if let timeToLive {
            guard timeToLive > .zero, let seconds = JSONNumber(timeToLive / .seconds(1)) else {
                throw TokenError(.unencodableContent, "the time to live (“ttl”) must be positive")
            }
            claims["ttl"] = .number(seconds)
        }
        return try JWTGenerator(header: ["typ": .string(Self.type)], payload: claims, signingService: signingService)
            .token()
    }

    private static func time(_ date: Date, _ name: String) throws(TokenError) -> JSONValue {
        guard NumericDate.range.contains(date.timeIntervalSince1970) else {
            throw TokenError(.unencodableContent, "“\(name)” is outside the years 1 to 9999")
        }
        return JSONValue(date: date.wholeSeconds)
    }

    /// Creates a token from a verified JWT.
    ///
    /// - Parameters:
    ///   - token: The JWT, verified with the policy
    ///     ``ValidationPolicy/statusList(uri:issuer:maximumTokenSize:)``.
    ///   - maximumListSize: The maximum size of the decompressed list in bytes. The default is 4
    ///     MiB.
    /// - Throws: ``TokenError`` with the code `typeMismatch` if the JWT isn't a status list token,
    ///   `missingClaim` without `sub`, `iat` or `status_list`, `malformedClaim` if `ttl` isn't a
    ///   positive number or the list is malformed, `tooLarge` if the list is;
    ///   `unsupportedAlgorithm` if the system has no zlib.
    public init(_ token: VerifiedToken, maximumListSize: Int = 4_194_304) throws(TokenError) {
        try TypeRule.exactly(Self.type).check(token.header["typ"]?.string)
        guard let uri = token.registered.subject, let issuedAt = token.registered.issuedAt,
            let list = token.claims["status_list"]
        else {
            throw TokenError(.missingClaim, "a status list token must have “sub”, “iat” and “status_list”")
        }
        guard let list = list.object else {
            throw TokenError(.malformedClaim, "the claim “status_list” must be an object")
        }
        timeToLive = try Self.timeToLive(token.claims["ttl"])
        self.list = try StatusList(json: list, maximumSize: maximumListSize)
        self.uri = uri
        issuer = token.registered.issuer
        self.issuedAt = issuedAt
        expiration = token.registered.expiration
    }

    private static func timeToLive(_ claim: JSONValue?) throws(TokenError) -> Duration? {
        guard let claim else { return nil }
        guard let seconds = claim.number?.double, seconds > 0 else {
            throw TokenError(.malformedClaim, "the claim “ttl” must be a positive number of seconds")
        }
        return Duration(clampingSeconds: seconds)
    }

    /// Returns the status of a token.
    ///
    /// - Parameter reference: The place of the token's status.
    /// - Returns: The status. Only ``TokenStatus/valid`` means that the token is valid.
    /// - Throws: ``TokenError`` with the code `subjectMismatch` if the reference is to another
    ///   list, `statusRejected` if the list has no such index.
    public func status(of reference: StatusListReference) throws(TokenError) -> TokenStatus {
        guard reference.uri.isExactly(uri) else {
            throw TokenError(.subjectMismatch, "the status list token (“sub”) isn't the one that the token refers to")
        }
        guard let status = list[reference.index] else {
            throw TokenError(.statusRejected, "the token's index isn't in its status list")
        }
        return status
    }
}

/// The place of a token's status: a status list and an index ([Token Status List
/// §6](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-6)).
///
/// ```swift
/// let reference = try StatusListReference(
///     index: 4_711,
///     uri: "https://id.example/statuslists/1"
/// )
/// claims["status"] = reference.claim
/// ```
public struct StatusListReference: Sendable, Hashable {
    /// The index of the token in the list, `idx`.
    public let index: Int
    /// The URI of the status list token, `uri`, exactly as in its `sub`.
    public let uri: String

    /// Creates a reference.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim` if the index is negative or the text
    ///   isn't an absolute URI.
    public init(index: Int, uri: String) throws(TokenError) {
        guard index >= 0 else {
            throw TokenError(.malformedClaim, "“idx” of the status list must not be negative")
        }
        guard URL(string: uri)?.scheme != nil else {
            throw TokenError(.malformedClaim, "“uri” of the status list must be an absolute URI")
        }
        self.index = index
        self.uri = uri
    }

    /// The value of the claim `status` for the token.
    public var claim: JSONValue {
        ["status_list": ["idx": .number(JSONNumber(index)), "uri": .string(uri)]]
    }
}

extension JSONObject {
    /// Returns the place of a token's status from its claim `status`.
    ///
    /// - Returns: The reference, or `nil` if the token has no `status`.
    /// - Throws: ``TokenError`` with the code `malformedClaim` if the claim or its parts have the
    ///   wrong type, the index is negative, or the only mechanisms are other ones than
    ///   `status_list`, which this version doesn't support.
    public func statusListReference() throws(TokenError) -> StatusListReference? {
        guard let claim = self["status"] else { return nil }
        guard let status = claim.object else {
            throw TokenError(.malformedClaim, "the claim “status” must be an object, not \(claim.kind)")
        }
        guard let member = status["status_list"] else {
            throw TokenError(.malformedClaim, "the claim “status” has no “status_list”, the only supported mechanism")
        }
        guard let index = member.object?["idx"]?.number?.integer, let uri = member.object?["uri"]?.string else {
            throw TokenError(
                .malformedClaim,
                "“status_list” must be an object with the integer “idx” and the string “uri”"
            )
        }
        return try StatusListReference(index: index, uri: uri)
    }
}
