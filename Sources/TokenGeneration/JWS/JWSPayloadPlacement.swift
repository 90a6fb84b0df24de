/// Where the payload of a JWS is.
public enum JWSPayloadPlacement: Sendable, Hashable {
    /// In the JWS.
    case attached
    /// Elsewhere ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)): whoever verifies must have it.
    case detached
}
