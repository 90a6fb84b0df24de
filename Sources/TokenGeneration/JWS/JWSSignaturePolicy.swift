/// Which signatures of a JSON serialization must be good for it to be accepted.
///
/// [RFC 7515 §5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2) leaves that to the application, so there is no default.
/// Good is a signature by one of the verifier's keys. Whoever carries a JWS can take signatures out and add others: only
/// ``everyKey`` and ``threshold(_:)`` say who must have signed.
public struct JWSSignaturePolicy: Sendable, Hashable {
    enum Rule: Hashable {
        case any, all, everyKey, threshold(Int)
    }

    let rule: Rule

    /// At least one signature must be good.
    public static let any = JWSSignaturePolicy(rule: .any)

    /// Every signature that is there must be good, whoever of the verifier's keys made it.
    public static let all = JWSSignaturePolicy(rule: .all)

    /// Each of the verifier's keys must have made a good signature; others may be there and are not looked at.
    ///
    /// A key set with an entry that can't verify (``JWKSet/unusableKeys(_:)``, ``JWKSet/rejections``) refuses every JWS: that
    /// key's signature can't be demanded.
    public static let everyKey = JWSSignaturePolicy(rule: .everyKey)

    /// At least a number of the verifier's keys must have made a good signature.
    ///
    /// A key that signed twice counts once.
    ///
    /// - Parameter count: How many keys; less than one counts as one.
    /// - Returns: The policy.
    public static func threshold(_ count: Int) -> JWSSignaturePolicy {
        JWSSignaturePolicy(rule: .threshold(max(count, 1)))
    }
}
