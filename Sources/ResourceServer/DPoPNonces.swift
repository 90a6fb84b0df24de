public import Foundation
import Networking
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
///
/// ```swift
/// verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
/// verifier.nonces = try RotatingDPoPNonces(partition: "a1")
/// ```
///
/// Nonces with a partition have its name and are accepted only there: a proof is rejected by the
/// servers of all other partitions, which respond with their nonces. With a replay cache for
/// each partition, each proof is accepted once, as with a cache for all servers. A partition is a
/// process with an `InMemoryReplayCache`, or several servers with a common secret and cache.
///
/// Clients remember one nonce for each origin. Therefore route each client to one partition: each
/// change costs one more request. A client whose repeated request reaches yet another partition may
/// fail.
public struct RotatingDPoPNonces: DPoPNonces {
    private let period: Duration
    private let partition: String?
    private let code: HMAC

    private static let maximumNameSize = 64

    /// Creates nonces from a secret.
    ///
    /// - Parameters:
    ///   - secret: The secret that servers share. The default is `nil`, for a new one. Don't pass a
    ///     secret if the replay cache of a partition is in memory: after a restart, the cache is
    ///     empty, so the nonces of earlier proofs must not be accepted.
    ///   - period: The time that a nonce is handed out; it's accepted for the same time again. The
    ///     default is 5 minutes, the minimum 1 second.
    ///   - partition: The name of the partition that accepts the nonces, at their start: 1 to 64
    ///     letters, digits, `-` and `_`. Clients see it. The default is `nil`, for nonces that all
    ///     servers with the secret accept.
    /// - Throws: `OAuth2Error` with the code `assertionFailed` if the secret is empty or missing,
    ///   or the name isn't valid.
    public init(secret: Secret? = nil, period: Duration = .seconds(300), partition: String? = nil) throws {
        if let partition {
            guard (1...Self.maximumNameSize).contains(partition.utf8.count),
                partition.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) && !".~".utf8.contains($0) })
            else {
                throw OAuth2Error(
                    .assertionFailed,
                    "the partition of DPoP nonces must have 1 to \(Self.maximumNameSize) letters, digits, - and _"
                )
            }
        }
        self.partition = partition
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
    /// - Throws: `OAuth2Error` with the code `assertionFailed` if OpenSSL fails.
    public func accepted(at date: Date) throws -> [String] {
        let number = (date.timeIntervalSince1970 / (period / .seconds(1))).rounded(.down)
        do {
            return try [number, number - 1].map { number in
                // A name has no spaces, so no two texts are equal.
                let text = "DPoP nonce \(number)" + (partition.map { " of \($0)" } ?? "")
                let octets = try Array(text.utf8).withBytes { bytes throws(CryptoError) in
                    try code.authenticationCode(for: bytes)
                }
                let nonce = Base64URL.encode(Array(octets.prefix(16)))
                return partition.map { "\($0).\(nonce)" } ?? nonce
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the nonce for DPoP proofs couldn't be created", cause: error)
        }
    }
}
