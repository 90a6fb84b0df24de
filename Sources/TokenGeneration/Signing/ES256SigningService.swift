public import Foundation
internal import OpenSSLCrypto

/// A signing service for ES256: ECDSA with P-256 and SHA-256, on OpenSSL.
///
/// ```swift
/// let service = try ES256SigningService(
///     key: SigningKey(pem: pem),
///     keyID: "2025-06"
/// )
/// let token = try JWTGenerator(payload: ["sub": "alice"], signingService: service)
///     .token()
/// ```
///
/// The service doesn't accept a key for another algorithm. A ``SigningKey`` is a signing service
/// for its own algorithm.
public struct ES256SigningService: SigningService, LocalSigningService {
    package let key: SigningKey

    /// Creates a service that signs with a key.
    ///
    /// - Parameters:
    ///   - key: A key for ES256.
    ///   - keyID: The ID to write into headers. The default is the key's own ID, if it has one.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the key is for another
    ///   algorithm.
    public init(key: SigningKey, keyID: String? = nil) throws(TokenError) {
        guard key.algorithm == .es256 else {
            throw TokenError(.algorithmMismatch, "ES256 can't sign with a key for \(key.algorithm)")
        }
        self.key = key.identified(by: keyID)
    }

    /// Creates a service with a new key.
    ///
    /// - Parameter keyID: The ID to write into headers, or `nil`.
    /// - Returns: The service.
    /// - Throws: ``TokenError`` if the system can't generate a key.
    public static func generate(keyID: String? = nil) throws(TokenError) -> Self {
        try Self(key: .generate(.es256), keyID: keyID)
    }

    /// The algorithm, ES256.
    public var algorithm: JWSAlgorithm { .es256 }
    /// The ID that verifiers know the key by, or `nil`.
    public var keyID: String? { key.keyID }
    /// The key that verifies the signatures, whose JWK has the service's key ID.
    public var verificationKey: VerificationKey { key.verificationKey }

    /// Signs data with ES256.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        try key.sign(data: data)
    }
}
