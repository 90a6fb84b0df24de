public import Foundation
internal import OpenSSLCrypto

/// Makes signed tokens: compact JWS with JSON claims ([RFC 7519 §7.1](https://www.rfc-editor.org/rfc/rfc7519#section-7.1)).
///
/// ```swift
/// let service = try ES256SigningService.generate(keyID: "1")
/// let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSinceNow: 300))
/// let token = try JWTGenerator(claims: claims, signingService: service).token()
/// ```
///
/// The JSON is deterministic: members sorted, no white space, nothing escaped that need not be.
public struct JWTGenerator: Sendable {
    private let content: Result<Content, TokenError>
    private let signingService: any SigningService

    /// What is signed, before the one who signs it is known.
    struct Content: Sendable {
        /// `nil` for a header without members of the caller's.
        let header: JSONObject?
        let payload: SerializedClaims
    }

    /// Makes a generator for dictionaries.
    ///
    /// They are converted at once; a value that JSON can't hold makes ``token()`` throw. No member is added to the header but
    /// `alg` and `kid`.
    ///
    /// - Parameters:
    ///   - jwtRepresentation: The header and the payload.
    ///   - signingService: What signs.
    public init(jwtRepresentation: any JWTContent, signingService: any SigningService) {
        content = Self.content(of: jwtRepresentation)
        self.signingService = signingService
    }

    /// Makes a generator for JSON.
    ///
    /// - Parameters:
    ///   - header: Members of the header besides `alg` and `kid`. `typ` is `JWT` if it is not given.
    ///   - payload: The claims.
    ///   - signingService: What signs.
    public init(header: JSONObject = [:], payload: JSONObject, signingService: any SigningService) {
        content = .success(Content(header: Self.typed(header), payload: SerializedClaims(payload)))
        self.signingService = signingService
    }

    /// Makes a generator for claims that are JSON already, which are signed byte for byte as they are.
    ///
    /// They are checked at once, as ``JSONObject/init(parsing:)-(Data)`` does; what is not strict JSON makes ``token()`` throw.
    ///
    /// - Parameters:
    ///   - header: Members of the header besides `alg` and `kid`. `typ` is `JWT` if it is not given.
    ///   - claimsJSON: The claims in UTF-8, a JSON object.
    ///   - signingService: What signs.
    public init(header: JSONObject = [:], claimsJSON: Data, signingService: any SigningService) {
        self.init(header: header, claimsOctets: Array(claimsJSON), signingService: signingService)
    }

    /// The same for octets that are in an array.
    package init(header: JSONObject, claimsOctets: [UInt8], signingService: any SigningService) {
        content = Result { () throws(TokenError) in
            Content(header: Self.typed(header), payload: try SerializedClaims(checking: claimsOctets))
        }
        self.signingService = signingService
    }

    /// Makes a generator for claims of a type of yours.
    ///
    /// They are encoded at once, dates as seconds since 1970; claims that can't be encoded make ``token()`` throw.
    ///
    /// - Parameters:
    ///   - header: Members of the header besides `alg` and `kid`. `typ` is `JWT` if it is not given.
    ///   - claims: The claims, which must encode as a JSON object.
    ///   - signingService: What signs.
    public init(header: JSONObject = [:], claims: some Encodable, signingService: any SigningService) {
        content = Self.content(header, claims)
        self.signingService = signingService
    }

    /// Signs a token.
    ///
    /// `alg` in the header is the signing service's, and `kid` if it has one.
    ///
    /// - Returns: The token.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if a value can't be held in JSON (the message names it, like
    ///   `payload.address.zip`), `algorithmMismatch` if the header states another `alg` or `kid` than the signing service,
    ///   `criticalHeaderUnsupported` if the header demands extensions, `signingFailed` if the service returned something that
    ///   is no signature of its algorithm; and whatever a signing service of yours throws, unchanged.
    public func token() throws -> String {
        let content = try content.get()
        let header: [UInt8]? =
            if let header = content.header {
                EncodedHeader.of(try Self.header(header, signedBy: SignerIdentity(signingService)))
            } else { nil }
        return try Self.token(header: header, payload: content.payload.bytes, signedBy: signingService)
    }

    /// A token of a header that is encoded already; `nil` for one without members of the caller's.
    static func token(
        header: [UInt8]?,
        payload: [UInt8],
        signedBy signingService: any SigningService
    ) throws -> String {
        var input = header ?? EncodedHeader.plain(for: signingService)
        Base64URL.encode(payload.span, into: &input)
        return CompactToken.text(input, signature: try signingService.checkedSignature(for: input))
    }
}

extension JWTGenerator {
    /// The header of a token to which the caller gives no members.
    static let plainHeader: JSONObject = ["typ": "JWT"]

    static func content(of jwt: any JWTContent) -> Result<Content, TokenError> {
        Result { () throws(TokenError) in
            Content(
                header: try JSONObject(converting: jwt.header, path: "header"),
                payload: SerializedClaims(try JSONObject(converting: jwt.payload, path: "payload"))
            )
        }
    }

    static func content(_ header: JSONObject, _ claims: some Encodable) -> Result<Content, TokenError> {
        Result { () throws(TokenError) in
            Content(header: typed(header), payload: try SerializedClaims(encoding: claims))
        }
    }

    /// The caller's members with a `typ`, or `nil` if the caller gives none.
    static func typed(_ header: JSONObject) -> JSONObject? {
        guard !header.isEmpty else { return nil }
        guard header["typ"] == nil else { return header }
        var header = header
        header["typ"] = "JWT"
        return header
    }

    /// The header of a JWT, complete.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch`, `criticalHeaderUnsupported` or `unencodableContent`.
    static func header(_ given: JSONObject, signedBy signer: SignerIdentity) throws(TokenError) -> JSONObject {
        var header = given
        try signer.writeAlgorithm(into: &header)
        try signer.writeKeyID(into: &header)
        guard header["crit"] == nil, header["b64"] == nil else {
            throw TokenError(
                .criticalHeaderUnsupported,
                "the header has “crit” or “b64”: a JWT has no extensions; remove them"
            )
        }
        do throws(TokenError) {
            _ = try ProtectedHeader(header)
        } catch {
            throw TokenError(.unencodableContent, error.message, cause: error)
        }
        return header
    }
}
