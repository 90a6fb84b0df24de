public import Foundation
public import OAuth2
internal import OpenSSLCrypto
import TokenGeneration

/// The nonces that a resource server requires in DPoP proofs
/// ([RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)).
///
/// They limit how far in advance proofs can be created, and the effect of a client's wrong clock.
public protocol DPoPNonces: Sendable {
    /// Returns the accepted nonces, starting with the one for new proofs.
    ///
    /// - Parameter date: The current time.
    /// - Returns: At least one nonce, each with the characters of
    ///   [RFC 9449 §8.1](https://www.rfc-editor.org/rfc/rfc9449#section-8.1).
    /// - Throws: Any error if nonces aren't available; the server then responds with 503.
    func accepted(at date: Date) async throws -> [String]
}

/// Nonces that rotate every few minutes without being stored.
///
/// Each is a message authentication code of the time, so that servers with the same secret accept
/// each other's nonces.
public struct RotatingDPoPNonces: DPoPNonces {
    /// The time that a nonce is handed out.
    ///
    /// It's accepted for the same time again.
    public let period: Duration
    private let code: HMAC

    /// Creates nonces from a secret.
    ///
    /// - Parameters:
    ///   - secret: The secret that servers share. The default is `nil`, for a new one.
    ///   - period: The time that a nonce is handed out. The default is 5 minutes, the minimum 1
    ///     second.
    /// - Throws: `OAuth2Error` with the code `assertionFailed` if the secret is empty or missing.
    public init(secret: Secret? = nil, period: Duration = .seconds(300)) throws {
        do {
            let octets = try secret.map { $0.expose { Array($0.utf8) } } ?? SecureRandom.bytes(count: 32)
            code = try octets.withBytes { bytes throws(CryptoError) in
                try HMAC(.sha256, key: SecretBytes(copying: bytes))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the secret of DPoP nonces is empty or missing", cause: error)
        }
        self.period = max(period, .seconds(1))
    }

    /// Returns the nonces of the current and the previous period.
    ///
    /// - Parameter date: The current time.
    /// - Returns: The two nonces.
    /// - Throws: `OAuth2Error` with the code `assertionFailed` if OpenSSL fails.
    public func accepted(at date: Date) throws -> [String] {
        let number = (date.timeIntervalSince1970 / (period / .seconds(1))).rounded(.down)
        do {
            return try [number, number - 1].map { number in
                let octets = try Array("DPoP nonce \(number)".utf8).withBytes { bytes throws(CryptoError) in
                    try code.authenticationCode(for: bytes)
                }
                return Base64URL.encode(Array(octets.prefix(16)))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the nonce for DPoP proofs couldn't be created", cause: error)
        }
    }
}
