/// A verifier's rule about key bindings: proofs that the presenter of an SD-JWT has the holder's
/// key ([RFC 9901 §9.5](https://www.rfc-editor.org/rfc/rfc9901#section-9.5)).
///
/// The verifier decides before it sees a presentation. A presentation without a key binding can't
/// change the rule.
public struct KeyBindingRule: Sendable, Hashable {
    struct Requirement: Hashable {
        let nonce: String
        let audience: String
        let maximumAge: Duration
    }

    let requirement: Requirement?

    /// The presentation must have a key binding that was made for this verifier and this
    /// transaction.
    ///
    /// - Parameters:
    ///   - nonce: The nonce that the verifier sent to the holder, a new one for each transaction.
    ///     An empty nonce rejects every presentation.
    ///   - audience: The name that holders know the verifier by. An empty name rejects every
    ///     presentation.
    ///   - maximumAge: The maximum time since the key binding was made. The default is 5 minutes.
    ///     The leeway of the verifier's policy extends it.
    /// - Returns: The rule.
    public static func required(
        nonce: String,
        audience: String,
        maximumAge: Duration = .seconds(300)
    ) -> KeyBindingRule {
        KeyBindingRule(requirement: Requirement(nonce: nonce, audience: audience, maximumAge: maximumAge))
    }

    /// The verifier accepts presentations with and without a key binding, and ignores key bindings.
    ///
    /// - Warning: Anyone who gets a copy of an SD-JWT, such as another verifier, can present it.
    public static let notRequired = KeyBindingRule(requirement: nil)
}

extension KeyBindingRule {
    /// Rejects a presentation without a required key binding
    /// ([RFC 9901 §7.3](https://www.rfc-editor.org/rfc/rfc9901#section-7.3), step 2).
    func checkPresence(in token: SDJWT) throws(TokenError) {
        guard requirement == nil || token.keyBindingJWT != nil else {
            throw TokenError(
                .keyBindingMismatch,
                "the presentation has no key binding, but the verifier requires one; the holder must sign it"
            )
        }
    }
}
