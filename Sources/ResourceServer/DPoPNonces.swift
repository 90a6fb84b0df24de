public import Foundation
public import OAuth2
internal import OpenSSLCrypto
import TokenGeneration

/// The nonces that a resource server wants in DPoP proofs ([RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)).
///
/// They bound how long a proof can have been made in advance, and make a wrong clock of the client's matter less.
public protocol DPoPNonces: Sendable {
    /// The nonces that are accepted, the one to hand out first.
    ///
    /// - Parameter date: The present time.
    /// - Returns: The nonces, at least one; each of characters of [RFC 9449 §8.1](https://www.rfc-editor.org/rfc/rfc9449#section-8.1).
    /// - Throws: Any error, if there are none; requests are then answered with 503.
    func accepted(at date: Date) async throws -> [String]
}

/// Nonces that are replaced every few minutes, without anything to be stored.
///
/// Each is a message authentication code of the time, so that servers with the same secret accept each other's.
public struct RotatingDPoPNonces: DPoPNonces {
    /// How long a nonce is handed out; it is accepted for as long again.
    public let period: Duration
    private let code: HMAC

    /// Makes nonces of a secret.
    ///
    /// - Parameters:
    ///   - secret: The secret that servers share; `nil` for a new one of this process.
    ///   - period: How long a nonce is handed out; 5 minutes by default, and a second at least.
    /// - Throws: `OAuth2Error` with the code `assertionFailed` if the secret is empty or none can be made.
    public init(secret: Secret? = nil, period: Duration = .seconds(300)) throws {
        do {
            let octets = try secret.map { $0.expose { Array($0.utf8) } } ?? SecureRandom.bytes(count: 32)
            code = try octets.withBytes { bytes throws(CryptoError) in
                try HMAC(.sha256, key: SecretBytes(copying: bytes))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the nonces for DPoP proofs have no secret", cause: error)
        }
        self.period = max(period, .seconds(1))
    }

    /// The nonce of the present period and that of the one before.
    ///
    /// - Parameter date: The present time.
    /// - Returns: The two.
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
            throw OAuth2Error(.assertionFailed, "the nonce for DPoP proofs could not be made", cause: error)
        }
    }
}
