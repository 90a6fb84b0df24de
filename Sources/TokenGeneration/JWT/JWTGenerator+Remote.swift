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
        let form = UnsignedForm(remoteSigningService)
        let unsigned = try JWTGenerator(jwtRepresentation: jwtRepresentation, signingService: form).token
        return try await signed(unsigned, by: remoteSigningService)
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
        let form = UnsignedForm(remoteSigningService)
        let unsigned = try JWTGenerator(header: header, payload: payload, signingService: form).token
        return try await signed(unsigned, by: remoteSigningService)
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
        let form = UnsignedForm(remoteSigningService)
        let unsigned = try JWTGenerator(header: header, claims: claims, signingService: form).token
        return try await signed(unsigned, by: remoteSigningService)
    }

    /// Completes a token whose signature is empty.
    private static func signed(_ unsigned: String, by service: any RemoteSigningService) async throws -> String {
        let input = Array(unsigned.utf8.dropLast())
        return unsigned + Base64URL.encode(try await service.checkedSignature(for: input))
    }
}

/// Leaves the signature empty, so that a generator gives out the signing input of a remote service.
private struct UnsignedForm: InPlaceSigningService {
    let algorithm: JWSAlgorithm
    let keyID: String?

    init(_ service: any RemoteSigningService) {
        algorithm = service.algorithm
        keyID = service.keyID
    }

    func sign(data: Data) throws -> Data { Data() }

    func signature(for message: RawSpan) throws(TokenError) -> [UInt8] { [] }
}
