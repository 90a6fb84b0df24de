public import Foundation
internal import OpenSSLCrypto

/// Signs with a key of this process, on OpenSSL, whatever algorithm the key is for.
///
/// ```swift
/// let key = try SigningKey(pem: pem, algorithm: .rs256)
/// let service = KeySigningService(key: key, keyID: "2025-06")
/// let token = try JWTGenerator(payload: ["sub": "alice"], signingService: service).token()
/// ```
///
/// A ``SigningKey`` is a signing service, too. This type adds another key ID.
public struct KeySigningService: SigningService {
    private let storage: Storage

    /// One reference is all that a generator copies.
    private final class Storage: Sendable {
        let key: SigningKey
        let keyID: String?
        let verificationKey: VerificationKey
        let plainHeader: [UInt8]

        init(_ key: SigningKey, _ keyID: String?) {
            self.key = key
            self.keyID = keyID
            verificationKey = key.verificationKey.identified(by: keyID)
            plainHeader = EncodedHeader.plain(key.algorithm, keyID)
        }

        func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String {
            if let header { return try key.token(header: header, payload: payload) }
            return try key.token(header: plainHeader, payload: payload)
        }
    }

    /// Makes a service that signs with a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - keyID: The ID to write into headers; by default the one the key has, if any.
    public init(key: SigningKey, keyID: String? = nil) {
        storage = Storage(key, keyID ?? key.keyID)
    }

    /// Makes a service with a new key.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm to sign with.
    ///   - keyID: The ID to write into headers, or `nil`.
    /// - Returns: The service.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, or `signingFailed` if the system can't make a key.
    public static func generate(_ algorithm: JWSAlgorithm, keyID: String? = nil) throws(TokenError) -> KeySigningService
    {
        KeySigningService(key: try .generate(algorithm), keyID: keyID)
    }

    /// The key's algorithm.
    public var algorithm: JWSAlgorithm { storage.key.algorithm }
    /// The ID under which verifiers know the key, or `nil`.
    public var keyID: String? { storage.keyID }
    /// What verifies the signatures, for those who do; its JWK has the service's key ID.
    public var verificationKey: VerificationKey { storage.verificationKey }

    /// Signs.
    ///
    /// - Parameter data: The JWS signing input.
    /// - Returns: The JWS signature.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        Data(try storage.key.signature(for: data.bytes))
    }
}

extension KeySigningService: InPlaceSigningService {
    package func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String {
        try storage.token(header: header, payload: payload)
    }

    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        try storage.key.signature(for: message)
    }
}
