internal import OpenSSLCrypto

/// A hash algorithm of an SD-JWT, identified by its name in `_sd_alg`
/// ([RFC 9901 §4.1.1](https://www.rfc-editor.org/rfc/rfc9901#section-4.1.1)).
///
/// The names are those of the IANA registry of named information. Other algorithms of the registry
/// are truncated, and aren't supported.
public struct SDJWTHashAlgorithm: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    private enum Wrapped: String {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"
    }

    private let wrapped: Wrapped

    /// SHA-256, the default of SD-JWTs.
    public static let sha256 = SDJWTHashAlgorithm(wrapped: .sha256)
    /// SHA-384.
    public static let sha384 = SDJWTHashAlgorithm(wrapped: .sha384)
    /// SHA-512.
    public static let sha512 = SDJWTHashAlgorithm(wrapped: .sha512)

    private init(wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// Creates an algorithm from its name.
    ///
    /// - Parameter rawValue: The case-sensitive name. The result is `nil` for an algorithm that the
    ///   package doesn't support.
    public init?(rawValue: String) {
        let known: [SDJWTHashAlgorithm] = [.sha256, .sha384, .sha512]
        guard let algorithm = known.first(where: { $0.rawValue.isExactly(rawValue) }) else { return nil }
        self = algorithm
    }

    /// The name.
    public var rawValue: String { wrapped.rawValue }

    /// The name.
    public var description: String { rawValue }
}

extension SDJWTHashAlgorithm {
    /// The claim that names the algorithm.
    static let claim = "_sd_alg"

    /// Reads the algorithm of an issuer-signed payload.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim` or `unsupportedAlgorithm`.
    init(in payload: JSONObject) throws(TokenError) {
        guard let name = try payload.stringClaim(Self.claim) else {
            self = .sha256
            return
        }
        guard let algorithm = SDJWTHashAlgorithm(rawValue: name) else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“_sd_alg” is \(TokenError.shown(name)), but only sha-256, sha-384 and sha-512 are supported"
            )
        }
        self = algorithm
    }

    /// Returns the hash of bytes in base64url.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` if OpenSSL doesn't offer the
    ///   function.
    func digest(of bytes: [UInt8]) throws(TokenError) -> String {
        let function: HashFunction =
            switch wrapped {
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
        do throws(CryptoError) {
            return Base64URL.encode(
                try bytes.withBytes { bytes throws(CryptoError) in try function.hash(bytes) }
            )
        } catch {
            throw TokenError(.unsupportedAlgorithm, "can't compute the hash: \(error.message)", cause: error)
        }
    }
}
