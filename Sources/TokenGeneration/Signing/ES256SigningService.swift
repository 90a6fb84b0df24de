public import Foundation
internal import OpenSSLCrypto

/// Signs with one algorithm that stands in its type, on OpenSSL, with a key of this process.
///
/// ```swift
/// let service = try ES256SigningService(key: SigningKey(pem: pem), keyID: "2025-06")
/// let token = try JWTGenerator(payload: ["sub": "alice"], signingService: service).token
/// ```
///
/// A key for another algorithm is refused when the service is made. ``KeySigningService`` takes any key.
public struct AlgorithmSigningService<Algorithm: SigningAlgorithm>: SigningService {
    private let service: KeySigningService

    /// Makes a service that signs with a key.
    ///
    /// - Parameters:
    ///   - key: A key for the algorithm.
    ///   - keyID: The ID to write into headers; by default the one the key has, if any.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the key is for another algorithm.
    public init(key: SigningKey, keyID: String? = nil) throws(TokenError) {
        guard key.algorithm == Algorithm.algorithm else {
            throw TokenError(.algorithmMismatch, "\(Algorithm.algorithm) can't sign with a key for \(key.algorithm)")
        }
        service = KeySigningService(key: key, keyID: keyID)
    }

    /// Makes a service with a new key.
    ///
    /// - Parameter keyID: The ID to write into headers, or `nil`.
    /// - Returns: The service.
    /// - Throws: ``TokenError`` if the system can't make a key.
    public static func generate(keyID: String? = nil) throws(TokenError) -> Self {
        try Self(key: .generate(Algorithm.algorithm), keyID: keyID)
    }

    /// The algorithm.
    public var algorithm: JWSAlgorithm { Algorithm.algorithm }
    /// The ID under which verifiers know the key, or `nil`.
    public var keyID: String? { service.keyID }
    /// What verifies the signatures, for those who do; its JWK has the service's key ID.
    public var verificationKey: VerificationKey { service.verificationKey }

    /// Signs.
    ///
    /// - Parameter data: The JWS signing input.
    /// - Returns: The JWS signature.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    public func sign(data: Data) throws -> Data {
        try service.sign(data: data)
    }
}

extension AlgorithmSigningService: InPlaceSigningService {
    package func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String {
        try service.token(header: header, payload: payload)
    }

    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        try service.signature(for: message)
    }
}
