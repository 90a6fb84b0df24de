public import Foundation
internal import OpenSSLCrypto

/// Signs with ECDSA on P-256 and SHA-256, on OpenSSL.
///
/// ```swift
/// let service = try ES256SigningService(key: SigningKey(pem: pem), keyID: "2025-06")
/// let token = try JWTGenerator(payload: ["sub": "alice"], signingService: service).token
/// ```
public struct ES256SigningService: SigningService {
    /// The ID under which verifiers know the key, or `nil`.
    public let keyID: String?
    /// The public half of the key, for those who verify; its JWK has the service's key ID.
    public let verificationKey: VerificationKey
    private let key: SigningKey

    /// Makes a service that signs with a key.
    ///
    /// - Parameters:
    ///   - key: A key for ES256.
    ///   - keyID: The ID to write into headers; by default the one the key has, if any.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the key is for another algorithm.
    public init(key: SigningKey, keyID: String? = nil) throws(TokenError) {
        guard key.algorithm == .es256 else {
            throw TokenError(.algorithmMismatch, "ES256 can't sign with a key for \(key.algorithm)")
        }
        self.key = key
        self.keyID = keyID ?? key.keyID
        verificationKey = try key.verificationKey.identified(by: self.keyID)
    }

    /// Makes a service with a new key.
    ///
    /// - Parameter keyID: The ID to write into headers, or `nil`.
    /// - Returns: The service.
    /// - Throws: ``TokenError`` if the system can't make a key.
    public static func generate(keyID: String? = nil) throws(TokenError) -> ES256SigningService {
        try ES256SigningService(key: .generate(.es256), keyID: keyID)
    }

    /// The algorithm, ES256.
    public var algorithm: JWSAlgorithm { .es256 }

    /// Signs.
    ///
    /// - Parameter data: The JWS signing input.
    /// - Returns: The 64 bytes of `r ‖ s`.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        Data(try key.signature(for: data.bytes))
    }
}

extension ES256SigningService: InPlaceSigningService {
    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        try key.signature(for: message)
    }
}
