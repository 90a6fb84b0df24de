/// The signatures that a JSON serialization must have to be accepted.
///
/// [RFC 7515 §5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2) leaves the choice to the
/// application, so there is no default. A signature is valid if one of the verifier's keys verifies
/// it. An attacker can remove signatures from a JWS and add others: only ``everyKey`` and
/// ``threshold(_:)`` determine who must have signed.
public struct JWSSignaturePolicy: Sendable, Hashable {
    enum Rule: Hashable {
        case any, all, everyKey, threshold(Int)
    }

    let rule: Rule

    /// At least one signature must be valid.
    public static let any = JWSSignaturePolicy(rule: .any)

    /// Every signature in the JWS must be valid, by any of the verifier's keys.
    public static let all = JWSSignaturePolicy(rule: .all)

    /// Each of the verifier's keys must have made a valid signature; other signatures are ignored.
    ///
    /// If an entry of a key set can't verify (``JWKSet/unusableKeys(_:)``, ``JWKSet/rejections``),
    /// every JWS is rejected, because that key's signature can't be required.
    public static let everyKey = JWSSignaturePolicy(rule: .everyKey)

    /// Requires valid signatures by a minimum number of the verifier's keys.
    ///
    /// Two signatures by the same key count once.
    ///
    /// - Parameter count: The number of keys; less than 1 counts as 1.
    /// - Returns: The policy.
    public static func threshold(_ count: Int) -> JWSSignaturePolicy {
        JWSSignaturePolicy(rule: .threshold(max(count, 1)))
    }
}
