/// Why a TLS connection was not made, as far as both sides said; see ``NetworkError/tlsFailure``.
///
/// New cases may be added; a `switch` over them has a `default`.
@nonexhaustive
public enum TLSFailure: Error, Hashable, Sendable {
    /// No chain leads from the server's certificate to a trusted one, or one of them does not allow its use.
    case untrustedChain
    /// A certificate of the server's chain has expired.
    case certificateExpired
    /// A certificate of the server's chain is not valid yet; often this machine's clock is wrong.
    case certificateNotYetValid
    /// The server's certificate is another host's.
    case wrongHost
    /// No certificate of the verified chain has one of the policy's pins. Seen were these, the server's own first.
    case pinMismatch(seen: [PublicKeyPin])
    /// No pinning policy is about the host, and ``ServerTrustEvaluator/Configuration/allowNotPinnedDomains`` is false.
    case hostNotPinned
    /// The pinning policy of the host has expired, and ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies`` is
    /// false.
    case pinningPolicyExpired
    /// The server wants a client certificate and there is no ``TLSConfiguration/clientIdentity``.
    case clientCertificateRequired
    /// The server does not accept the client certificate.
    case clientCertificateRefused
    /// The ``ClientIdentity`` could not be provided; the error's cause says why.
    case clientIdentityUnavailable
    /// The server speaks none of the versions of TLS that are allowed.
    case protocolVersion
    /// Something else, such as no cipher in common.
    case handshake
}

extension TLSFailure: CustomStringConvertible {
    /// What happened, for a person to read.
    public var description: String {
        switch self {
        case .untrustedChain: "the server's certificate is not trusted"
        case .certificateExpired: "a certificate of the server has expired"
        case .certificateNotYetValid: "a certificate of the server is not valid yet; is this machine's clock right?"
        case .wrongHost: "the server's certificate is another host's"
        case .pinMismatch(let seen):
            "none of the pins is in the server's chain, which has \(seen.map(\.description).joined(separator: ", "))"
        case .hostNotPinned: "no pinning policy is about the host"
        case .pinningPolicyExpired: "the pinning policy of the host has expired"
        case .clientCertificateRequired: "the server wants a client certificate; set TLSConfiguration.clientIdentity"
        case .clientCertificateRefused: "the server does not accept the client certificate"
        case .clientIdentityUnavailable: "the client certificate could not be provided"
        case .protocolVersion: "the server speaks none of the allowed versions of TLS"
        case .handshake: "the handshake failed"
        }
    }
}
