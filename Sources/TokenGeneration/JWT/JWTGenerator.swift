public import FoundationEssentials
internal import OpenSSLCrypto

/// A generator of signed tokens: compact JWSs with JSON claims
/// ([RFC 7519 §7.1](https://www.rfc-editor.org/rfc/rfc7519#section-7.1)).
///
/// ```swift
/// let service = try ES256SigningService.generate(keyID: "1")
/// let claims = RegisteredClaims(
///     issuer: "me",
///     expiration: Date(timeIntervalSinceNow: 300)
/// )
/// let token = try JWTGenerator(claims: claims, signingService: service).token()
/// ```
///
/// The JSON is deterministic: sorted members, no white space, minimal escaping. With a key outside
/// this process, use ``SigningService/token(for:header:)``.
public struct JWTGenerator: Sendable {
    private let content: Result<Content, TokenError>
    private let signingService: any LocalSigningService

    struct Content: Sendable {
        /// `nil` if the caller sets no members.
        let header: JSONObject?
        /// Claims as JSON, sorted and without white space, or as the caller wrote them.
        let payload: [UInt8]

        func signingInput(for service: some SigningService, _ localKey: SigningKey?) throws(TokenError) -> [UInt8] {
            var input: [UInt8] =
                if let header {
                    EncodedHeader.of(try JWTGenerator.header(header, service.algorithm, service.keyID))
                } else {
                    localKey?.plainHeader ?? EncodedHeader.plain(service.algorithm, service.keyID)
                }
            Base64URL.encode(payload.span, into: &input)
            return input
        }
    }

    /// Creates a generator for dictionaries.
    ///
    /// The initializer converts the dictionaries. If JSON can't represent a value, ``token()``
    /// throws. Only `alg` and `kid` are added to the header.
    ///
    /// - Parameters:
    ///   - jwtRepresentation: The header and the payload.
    ///   - signingService: The service that signs.
    public init(jwtRepresentation: any JWTContent, signingService: any LocalSigningService) {
        content = Result { () throws(TokenError) in
            Content(
                header: try JSONObject(converting: jwtRepresentation.header, path: "header"),
                payload: try JSONObject(converting: jwtRepresentation.payload, path: "payload").serializedBytes()
            )
        }
        self.signingService = signingService
    }

    /// Creates a generator for claims as a JSON object.
    ///
    /// - Parameters:
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    ///   - payload: The claims.
    ///   - signingService: The service that signs.
    public init(header: JSONObject = [:], payload: JSONObject, signingService: any LocalSigningService) {
        content = .success(Content(header: Self.typed(header), payload: payload.serializedBytes()))
        self.signingService = signingService
    }

    /// Creates a generator for claims as JSON text, which is signed byte for byte.
    ///
    /// The initializer checks the text, as ``JSONObject/init(parsing:)-(Data)`` does. If it isn't
    /// strict JSON, ``token()`` throws.
    ///
    /// - Parameters:
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    ///   - claimsJSON: The claims, a JSON object in UTF-8.
    ///   - signingService: The service that signs.
    public init(header: JSONObject = [:], claimsJSON: Data, signingService: any LocalSigningService) {
        content = Result { () throws(TokenError) in
            let json = Array(claimsJSON)
            do throws(TokenError) {
                _ = try JSONObject(parsing: json, limits: .document)
            } catch {
                throw TokenError(.unencodableContent, "the claims aren't a claims set: \(error.message)", cause: error)
            }
            return Content(header: Self.typed(header), payload: json)
        }
        self.signingService = signingService
    }

    /// Creates a generator for claims of an encodable type.
    ///
    /// The initializer encodes the claims, with dates as seconds since 1970. If they can't be
    /// encoded, ``token()`` throws.
    ///
    /// - Parameters:
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    ///   - claims: The claims, which must encode as a JSON object.
    ///   - signingService: The service that signs.
    public init(header: JSONObject = [:], claims: some Encodable, signingService: any LocalSigningService) {
        content = Result { () throws(TokenError) in try Content(header, claims) }
        self.signingService = signingService
    }

    /// Signs a token.
    ///
    /// `alg` and `kid` in the header are those of the signing service. A service without a key ID
    /// adds no `kid`.
    ///
    /// - Returns: The token.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if JSON can't represent a value
    ///   (the message names it, such as `payload.address.zip`), `algorithmMismatch` if `alg` or
    ///   `kid` in the header isn't the signing service's, `criticalHeaderUnsupported` if the header
    ///   requires extensions, `signingFailed` if the service's result can't be a signature of its
    ///   algorithm. Errors of a custom signing service are passed on unchanged.
    public func token() throws -> String {
        let localKey = signingService.localKey
        let input = try content.get().signingInput(for: signingService, localKey)
        return CompactToken.text(input, signature: try signingService.checkedSignature(for: input, with: localKey))
    }

    static let plainHeader: JSONObject = ["typ": "JWT"]

    /// `nil` for an empty header.
    static func typed(_ header: JSONObject) -> JSONObject? {
        guard !header.isEmpty else { return nil }
        guard header["typ"] == nil else { return header }
        var header = header
        header["typ"] = "JWT"
        return header
    }

    static func header(
        _ given: JSONObject,
        _ algorithm: JWSAlgorithm,
        _ keyID: String?
    ) throws(TokenError) -> JSONObject {
        var header = given
        try header.state(algorithm, keyID)
        guard header["crit"] == nil, header["b64"] == nil else {
            throw TokenError(
                .criticalHeaderUnsupported,
                "the header has “crit” or “b64”, but a JWT doesn't support extensions; remove them"
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

extension JWTGenerator.Content {
    init(_ header: JSONObject, _ claims: some Encodable) throws(TokenError) {
        self.init(header: JWTGenerator.typed(header), payload: try JSONObject(encoding: claims).serializedBytes())
    }
}

extension JSONObject {
    mutating func state(_ algorithm: JWSAlgorithm, _ keyID: String?) throws(TokenError) {
        try state("alg", algorithm.rawValue, by: "the signing service")
        if let keyID { try state("kid", keyID, by: "the signing service") }
    }

    mutating func state(_ name: String, _ value: String, by owner: String) throws(TokenError) {
        guard self[name] == nil || self[name] == .string(value) else {
            throw TokenError(
                .algorithmMismatch,
                "“\(name)” of the header contradicts \(owner), which has \(TokenError.shown(value)); omit it"
            )
        }
        self[name] = .string(value)
    }
}
