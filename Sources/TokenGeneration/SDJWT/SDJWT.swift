public import FoundationEssentials
internal import OpenSSLCrypto

/// An SD-JWT, or an SD-JWT with a key binding (SD-JWT+KB), ready to be sent
/// ([RFC 9901 §4](https://www.rfc-editor.org/rfc/rfc9901#section-4)).
///
/// An ``SDJWTIssuer`` creates one for a holder, and an ``SDJWTHolder`` creates one for a verifier.
/// Receivers pass the text to an ``SDJWTVerifier``.
public struct SDJWT: Sendable {
    let issuerJWT: String
    /// Only a JSON serialization has it.
    private(set) var unprotectedHeader: JSONObject = [:]
    let disclosures: [String]
    var keyBindingJWT: String?

    /// The compact serialization, which ends with `~` unless there is a key binding.
    public var compact: String { boundText + (keyBindingJWT ?? "") }

    /// Returns the flattened JSON serialization
    /// ([RFC 9901 §8.2](https://www.rfc-editor.org/rfc/rfc9901#section-8.2)).
    ///
    /// - Returns: The JSON object.
    public func flattenedJSON() -> JSONObject {
        let parts = issuerJWT.split(separator: ".", omittingEmptySubsequences: false).map {
            JSONValue.string(String($0))
        }
        var header = unprotectedHeader
        header["disclosures"] = .array(disclosures.map(JSONValue.string))
        header["kb_jwt"] = keyBindingJWT.map(JSONValue.string)
        var object: JSONObject = ["header": .object(header)]
        for (name, part) in zip(["protected", "payload", "signature"], parts) { object[name] = part }
        return object
    }
}

extension SDJWT: Redacted {
    /// The number of disclosures, but no content.
    public var description: String {
        "SDJWT(\(disclosures.count) disclosures\(keyBindingJWT == nil ? "" : ", key binding"))"
    }

    private static let separator = UInt8(ascii: "~")

    /// Everything before the key binding, including the last `~` ([RFC 9901
    /// §4.3.1](https://www.rfc-editor.org/rfc/rfc9901#section-4.3.1)).
    var boundText: String {
        ([issuerJWT] + disclosures).map { "\($0)~" }.joined()
    }

    init(compact text: String, limits: SDJWTLimits) throws(TokenError) {
        try limits.check(size: text.utf8.count)
        let bytes = Array(text.utf8)
        guard bytes.first != UInt8(ascii: "{") else {
            throw TokenError(.malformedToken, "this is JSON, not a compact SD-JWT; verify it as JSON")
        }
        var separators: [Int] = []
        var start = 0
        while let end = bytes.span.firstOffset(of: Self.separator, from: start) {
            // The first one ends the issuer-signed JWT.
            try limits.check(disclosureCount: separators.count)
            separators.append(end)
            start = end + 1
        }
        guard let first = separators.first else {
            throw TokenError(
                .malformedToken,
                "this isn't an SD-JWT, which has a “~” after the signed token; use JWTVerifier to verify a plain token"
            )
        }
        var disclosures: [String] = []
        for (previous, end) in zip(separators, separators.dropFirst()) {
            try limits.check(disclosureSize: end - previous - 1)
            guard end > previous + 1 else {
                throw TokenError(.malformedDisclosure, "disclosure \(disclosures.count) is empty")
            }
            disclosures.append(String(decoding: bytes[(previous + 1)..<end], as: UTF8.self))
        }
        self.init(
            issuerJWT: String(decoding: bytes[..<first], as: UTF8.self),
            disclosures: disclosures,
            keyBindingJWT: start < bytes.count ? String(decoding: bytes[start...], as: UTF8.self) : nil
        )
    }

    /// Takes one of the signatures for the compact form ([RFC 9901
    /// §8.1](https://www.rfc-editor.org/rfc/rfc9901#section-8.1)).
    init(_ token: JSONToken, signature index: Int = 0, limits: SDJWTLimits) throws(TokenError) {
        guard let payload = token.payload else {
            throw TokenError(.malformedToken, "the JSON has no “payload”")
        }
        guard token.payloadEncoding == .base64url else {
            throw TokenError(.criticalHeaderUnsupported, "the payload of an SD-JWT must be encoded; remove “b64”")
        }
        for signature in token.signatures.dropFirst() {
            for name in ["disclosures", "kb_jwt"] where signature.unprotectedHeader[name] != nil {
                throw TokenError(.malformedToken, "“\(name)” is allowed only in the first unprotected header")
            }
        }
        let first = token.signatures[0].unprotectedHeader
        let signature = token.signatures[index]
        var header = signature.unprotectedHeader
        header["disclosures"] = nil
        header["kb_jwt"] = nil
        self.init(
            issuerJWT: "\(signature.protectedText).\(payload).\(Base64URL.encode(signature.signature))",
            unprotectedHeader: header,
            disclosures: try Self.disclosures(in: first, limits),
            keyBindingJWT: try first.string("kb_jwt")
        )
    }

    private static func disclosures(
        in header: JSONObject,
        _ limits: SDJWTLimits
    ) throws(TokenError) -> [String] {
        guard let value = header["disclosures"] else { return [] }
        guard let elements = value.array else {
            throw TokenError(.malformedToken, "“disclosures” must be an array, not \(value.kind)")
        }
        try limits.check(disclosureCount: elements.count)
        var disclosures: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.string, !text.isEmpty else {
                throw TokenError(.malformedDisclosure, "disclosure \(index) isn't a text")
            }
            try limits.check(disclosureSize: text.utf8.count)
            disclosures.append(text)
        }
        return disclosures
    }
}

/// The content of an SD-JWT, without any proof that it's authentic.
///
/// Anyone can write any SD-JWT. Use this type only to inspect one, for example to find out which
/// issuer's keys to fetch. To make decisions, use ``SDJWTVerifier``.
public struct UnverifiedSDJWT: Sendable, Redacted {
    /// The protected header of the issuer-signed JWT, as the unknown author of the SD-JWT wrote it.
    ///
    /// In the general JSON serialization, it's that of the first signature.
    public let unverifiedHeader: JSONObject
    /// The payload of the issuer-signed JWT, as the unknown author wrote it, with digests instead
    /// of the claims that can be hidden.
    public let unverifiedPayload: JSONObject

    package struct Disclosed: Sendable {
        /// `nil` if the hash algorithm isn't supported.
        package let digest: String?
        package let path: ClaimPath?
        package let name: String?
        package let value: JSONValue?
    }

    package struct KeyBinding: Sendable {
        package let header: JSONObject
        package let claims: JSONObject
    }

    /// One, unless the form is general JSON.
    package let signatures: [UnverifiedJWS.Signature]
    package let disclosures: [Disclosed]
    /// Decoys, and claims that are hidden.
    package let undisclosedCount: Int
    package let keyBinding: KeyBinding?
    /// The reasons why verifiers with the same limits reject the disclosures and the key binding,
    /// regardless of the signatures.
    package let problems: [TokenError]

    /// Parses a compact SD-JWT, with or without a key binding.
    ///
    /// The signature can be any base64url text, including an empty one. The disclosures and the key
    /// binding can be malformed.
    ///
    /// - Parameters:
    ///   - compact: The SD-JWT.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `malformedDisclosure` for an empty
    ///   disclosure, or `tooLarge`.
    public init(_ compact: String, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let token = try SDJWT(compact: compact, limits: limits)
        let jws = try UnverifiedJWS(compact: token.issuerJWT, limits: JWSLimits(size: limits.size))
        try self.init(token, jws, limits)
    }

    /// Parses an SD-JWT in the flattened or general JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The SD-JWT, JSON text in UTF-8.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` as ``init(_:limits:)`` does, and `criticalHeaderUnsupported` if the
    ///   payload isn't encoded.
    public init(json: Data, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let token = try JSONToken(Array(json), limits: JWSLimits(size: limits.size))
        try self.init(SDJWT(token, limits: limits), UnverifiedJWS(token), limits)
    }

    private init(_ token: SDJWT, _ jws: UnverifiedJWS, _ limits: SDJWTLimits) throws(TokenError) {
        signatures = jws.unverifiedSignatures
        unverifiedHeader = jws.unverifiedSignatures[0].unverifiedProtectedHeader
        let jwsLimits = JWSLimits(size: limits.size)
        let octets = Array(jws.unverifiedPayload ?? Data())
        let payload = try jwsLimits.claims(in: octets)
        unverifiedPayload = payload
        var problems: [TokenError] = []
        do throws(TokenError) {
            _ = try SDJWTVerifier.Processed(token, payload: octets, jwsLimits, limits)
        } catch {
            problems.append(error)
        }
        var finder = DisclosureFinder(
            token.disclosures,
            hash: try? NamedHash(in: payload),
            limits: limits
        )
        finder.visit(.object(payload))
        disclosures = finder.disclosures
        undisclosedCount = finder.undisclosedCount
        do throws(TokenError) {
            keyBinding = try token.keyBindingJWT.map { text throws(TokenError) in
                let parts = try KeyBindingJWT.parts(of: text)
                return KeyBinding(header: try parts.header().members, claims: try parts.claims(in: parts.payload()))
            }
        } catch {
            keyBinding = nil
            problems.append(error)
        }
        self.problems = problems
    }

    /// The number of disclosures, but no content.
    public var description: String { "UnverifiedSDJWT(\(disclosures.count) disclosures)" }
}

/// A presented SD-JWT that an ``SDJWTVerifier`` has verified.
///
/// Only a verifier creates one.
public struct VerifiedSDJWT: Sendable {
    /// A verified key binding: a proof that the presenter has the holder's key.
    public struct KeyBinding: Sendable {
        /// The holder's key, from the claim `cnf`.
        public let key: VerificationKey
        /// The time at which the key binding was made.
        public let issuedAt: Date
        /// All claims of the key binding.
        public let claims: JSONObject
    }

    /// The header of the issuer-signed JWT.
    public let header: JSONObject
    /// The claims: those that the issuer made visible, and those that the holder disclosed.
    public let claims: JSONObject
    /// The registered claims with their types.
    public let registered: RegisteredClaims
    /// The paths of the claims that the holder disclosed.
    public let disclosedPaths: [ClaimPath]
    /// The key binding, or `nil` if the verifier doesn't require one.
    public let keyBinding: KeyBinding?
}

/// The maximum size of an SD-JWT, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decoding where
/// possible. The limits of the policy, ``ValidationPolicy/limits``, apply to the issuer-signed JWT,
/// except for its size: the size of its header, and the nesting and members of its JSON.
public struct SDJWTLimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 256 KiB by default.
    public var size: Int
    /// The maximum number of disclosures, 256 by default.
    public var disclosureCount = 256
    /// The maximum size of one disclosure's text in bytes, 16 KiB by default.
    public var disclosureSize = 16_384
    /// The maximum number of digests in the payload and the disclosures, including decoys, 1024 by
    /// default.
    public var digestCount = 1_024
    /// The maximum nesting depth of objects and arrays in the processed claims, 16 by default and
    /// at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, JWSLimits.maximumDepth) }
    }
    private var allowedDepth = 16

    /// Creates limits in which the other properties have their default values.
    public init(size: Int = 262_144) {
        self.size = size
    }

    func check(size: Int) throws(TokenError) {
        try check(size, self.size, "the SD-JWT has \(size) bytes, but the limit is \(self.size)")
    }

    func check(disclosureCount count: Int) throws(TokenError) {
        try check(count, disclosureCount, "the SD-JWT has more than \(disclosureCount) disclosures")
    }

    func check(disclosureSize size: Int) throws(TokenError) {
        try check(size, disclosureSize, "a disclosure has \(size) bytes, but the limit is \(disclosureSize)")
    }

    func check(digestCount count: Int) throws(TokenError) {
        try check(count, digestCount, "the SD-JWT has more than \(digestCount) digests")
    }

    func check(depth: Int) throws(TokenError) {
        try check(depth, self.depth, "the claims of the SD-JWT have more than \(self.depth) levels")
    }

    private func check(_ count: Int, _ limit: Int, _ message: @autoclosure () -> String) throws(TokenError) {
        guard count <= limit else { throw TokenError(.tooLarge, message()) }
    }
}
