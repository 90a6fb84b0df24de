internal import Foundation
internal import OpenSSLCrypto

extension JWTGenerator {
    /// Makes a token that a remote service signs, of dictionaries.
    ///
    /// - Parameters:
    ///   - jwtRepresentation: The header and the payload, as for ``init(jwtRepresentation:signingService:)``.
    ///   - remoteSigningService: What signs.
    /// - Returns: The token.
    /// - Throws: ``TokenError`` as ``token`` does, `signingFailed` also for a signature that the service's own public key does
    ///   not verify; and what the service throws, unchanged.
    public static func makeToken(
        jwtRepresentation: any JWTContent,
        remoteSigningService: any RemoteSigningService
    ) async throws -> String {
        try await signed(content(of: jwtRepresentation), by: remoteSigningService)
    }

    /// Makes a token that a remote service signs, of JSON.
    ///
    /// - Parameters:
    ///   - header: Members of the header besides `alg` and `kid`. `typ` is `JWT` if it is not given.
    ///   - payload: The claims.
    ///   - remoteSigningService: What signs.
    /// - Returns: The token.
    /// - Throws: As ``makeToken(jwtRepresentation:remoteSigningService:)``.
    public static func makeToken(
        header: JSONObject = [:],
        payload: JSONObject,
        remoteSigningService: any RemoteSigningService
    ) async throws -> String {
        try await signed(
            .success(Content(header: typed(header), payload: SerializedClaims(payload))),
            by: remoteSigningService
        )
    }

    /// Makes a token that a remote service signs, of claims of a type of yours.
    ///
    /// - Parameters:
    ///   - header: Members of the header besides `alg` and `kid`. `typ` is `JWT` if it is not given.
    ///   - claims: The claims, as for ``init(header:claims:signingService:)``.
    ///   - remoteSigningService: What signs.
    /// - Returns: The token.
    /// - Throws: As ``makeToken(jwtRepresentation:remoteSigningService:)``.
    public static func makeToken(
        header: JSONObject = [:],
        claims: some Encodable,
        remoteSigningService: any RemoteSigningService
    ) async throws -> String {
        try await signed(content(header, claims), by: remoteSigningService)
    }

    /// Signs what the generator would sign, had it a service for it.
    private static func signed(
        _ content: Result<Content, TokenError>,
        by service: any RemoteSigningService
    ) async throws -> String {
        let content = try content.get()
        let header = try header(content.header ?? plainHeader, signedBy: SignerIdentity(service))
        let payload = content.payload.bytes
        var text = EncodedHeader.of(header)
        Base64URL.encode(payload.span, into: &text)
        let signature = try await service.checkedSignature(for: text)
        text.append(UInt8(ascii: "."))
        Base64URL.encode(signature.span, into: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
