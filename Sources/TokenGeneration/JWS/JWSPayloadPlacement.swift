/// The location of a JWS's payload.
public enum JWSPayloadPlacement: Sendable, Hashable {
    /// The JWS contains the payload.
    case attached
    /// The payload is transferred separately, and the verifier must have it
    /// ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)).
    case detached
}
