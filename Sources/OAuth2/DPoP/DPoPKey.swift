import Foundation
import Networking
import OpenSSLCrypto
import Synchronization
public import TokenGeneration

/// The key that access tokens are bound to ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     client: OAuth2Client(
///         server: server,
///         clientAuthentication: authentication,
///         dpop: .generated()
///     ),
///     grant: grant,
///     resources: [api]
/// )
/// ```
public struct DPoPKey: Sendable {
    enum Kind: Sendable {
        case generated(JWSAlgorithm)
        case fixed(DPoPProofGenerator)
    }

    let kind: Kind
    /// A Boolean value that indicates whether bearer tokens are accepted if the server lacks DPoP.
    ///
    /// The default is false.
    public var insecurelyAcceptsBearerTokens = false

    /// A new key for each grant, stored with the tokens that are bound to it.
    ///
    /// - Parameter algorithm: The asymmetric algorithm that the key is for. The default is ES256.
    /// - Returns: The key.
    public static func generated(_ algorithm: JWSAlgorithm = .es256) -> Self { Self(kind: .generated(algorithm)) }

    /// An existing key.
    ///
    /// - Parameter key: The key, which must be for an asymmetric algorithm.
    /// - Returns: The key.
    /// - Throws: `TokenError` with the code `unsupportedAlgorithm` if the key is a shared secret.
    public static func key(_ key: SigningKey) throws -> Self {
        Self(kind: .fixed(try DPoPProofGenerator(key: key)))
    }

    /// The key of a proof generator, such as one in a key management service.
    ///
    /// - Parameter generator: The generator that creates the proofs.
    /// - Returns: The key.
    public static func generator(_ generator: DPoPProofGenerator) -> Self { Self(kind: .fixed(generator)) }

    func bound(to record: TokenRecord?) throws(OAuth2Error) -> BoundKey {
        do {
            switch kind {
            case .fixed(let generator):
                return BoundKey(generator: generator)
            case .generated(let algorithm):
                if let pem = record?.proofKey {
                    let key = try pem.expose { try SigningKey(pem: $0) }
                    return BoundKey(generator: try DPoPProofGenerator(key: key), pem: pem)
                }
                let key = try SigningKey.generate(algorithm)
                return BoundKey(generator: try DPoPProofGenerator(key: key), pem: Secret(try key.pem()))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the key for DPoP proofs can't be generated or read", cause: error)
        }
    }
}

/// A key that signs proofs, with the PEM text for the store if the key was generated.
struct BoundKey: Sendable {
    let generator: DPoPProofGenerator
    var pem: Secret?
}

/// The DPoP nonce and the clock skew of the latest 100 origins, separate for authorization servers
/// and resource servers.
final class DPoPServerState: Sendable {
    private struct Hints {
        var nonce: String?
        /// The time by which the server's clock is ahead.
        var skew = Duration.zero
        var used: UInt64
    }

    private struct State {
        var hints: [HTTPOrigin: Hints] = [:]
        var uses: UInt64 = 0
    }

    private static let capacity = 100
    /// The clock skew that is ignored, because `Date` has whole seconds and responses take time.
    static let tolerance = Duration.seconds(5)

    private let state = Mutex(State())
    private let timeSource: TimeSource
    private let journal: TokenJournal

    init(timeSource: TimeSource, journal: TokenJournal) {
        self.timeSource = timeSource
        self.journal = journal
    }

    func nonce(for origin: HTTPOrigin) -> String? {
        state.withLock { $0.hints[origin]?.nonce }
    }

    func date(for origin: HTTPOrigin) -> Date {
        let skew = skew(for: origin)
        return skew == .zero ? timeSource.date() : timeSource.date().addingTimeInterval(skew / .seconds(1))
    }

    func skew(for origin: HTTPOrigin) -> Duration {
        state.withLock { $0.hints[origin]?.skew } ?? .zero
    }

    /// The `age` is the maximum time since the request was sent, or `nil` if unknown.
    func note(_ headers: HTTPHeaders, from url: URL, age: Duration?) {
        guard let origin = HTTPOrigin(url) else { return }
        let nonce = headers["DPoP-Nonce"].flatMap { Self.isNonce($0) ? $0 : nil }
        let sample = age.flatMap { measuredSkew(headers, age: $0) }
        guard nonce != nil || sample != nil else { return }
        let (isNewNonce, newSkew) = state.withLock { state -> (Bool, Duration?) in
            state.uses += 1
            var hints = state.hints[origin] ?? Hints(used: state.uses)
            hints.used = state.uses
            let isNewNonce = nonce != nil && nonce != hints.nonce
            if let nonce { hints.nonce = nonce }
            var newSkew: Duration?
            if let sample {
                let skew = sample.size >= Self.tolerance ? sample : .zero
                // A change within the rounding of `Date` to whole seconds isn't a change.
                if (skew == .zero) != (hints.skew == .zero) || (skew - hints.skew).size > Self.tolerance {
                    newSkew = skew
                    hints.skew = skew
                }
            }
            state.hints[origin] = hints
            if state.hints.count > Self.capacity, let oldest = state.hints.min(by: { $0.value.used < $1.value.used }) {
                state.hints[oldest.key] = nil
            }
            return (isNewNonce, newSkew)
        }
        if isNewNonce { journal.add(.nonceUpdated(origin: origin.description)) }
        if let newSkew { journal.add(.skewChanged(origin: origin.description, newSkew)) }
    }

    // `Date` is taken to be from halfway between request and response, but at most 2.5 seconds old:
    // servers reject proofs and assertions from the future, but not slightly older ones. If the two
    // are over 5 seconds apart, only a skew at least ten times as long counts.
    private func measuredSkew(_ headers: HTTPHeaders, age: Duration) -> Duration? {
        guard headers["Age"] == nil, let text = headers["Date"] else { return nil }
        let now = timeSource.date()
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let middle = now.addingTimeInterval(-(min(age, Self.tolerance) / .seconds(1)) / 2)
        // Add half a second, because `Date` is truncated to whole seconds.
        let skew = Duration.milliseconds(Int64(clamping: ((date.timeIntervalSince(middle) + 0.5) * 1_000).rounded()))
        return age <= Self.tolerance || age * 10 <= skew.size ? skew : nil
    }

    /// [RFC 9449 §8.1](https://www.rfc-editor.org/rfc/rfc9449#section-8.1), and at most 1,024
    /// bytes.
    private static func isNonce(_ text: String) -> Bool {
        (1...1_024).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
    }
}

extension Duration {
    fileprivate var size: Duration { self < .zero ? .zero - self : self }
}
