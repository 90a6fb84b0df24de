/// The reason why a TLS connection failed, as far as both sides reported it; see
/// ``NetworkError/tlsFailure``.
///
/// New cases may be added. A `switch` over them needs a `default`.
@nonexhaustive
public enum TLSFailure: Error, Hashable, Sendable {
    /// The server's certificate doesn't chain to a trusted one, or a certificate in the chain
    /// doesn't allow its use.
    case untrustedChain
    /// A certificate in the server's chain has expired.
    case certificateExpired
    /// A certificate in the server's chain isn't valid yet; often this machine's clock is wrong.
    case certificateNotYetValid
    /// The server's certificate is for another host.
    case wrongHost
    /// The verified chain contains none of the policy's pins; the associated value lists its pins,
    /// starting with the server's own.
    case pinMismatch(seen: [PublicKeyPin])
    /// The host has no pinning policy, and
    /// ``ServerTrustEvaluator/Configuration/allowNotPinnedDomains`` is `false`.
    case hostNotPinned
    /// The host's pinning policy has expired, and
    /// ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies`` is `false`.
    case pinningPolicyExpired
    /// The server requires a client certificate, and ``TLSConfiguration/clientIdentity`` is `nil`.
    case clientCertificateRequired
    /// The server rejected the client certificate.
    case clientCertificateRefused
    /// The ``ClientIdentity`` isn't available; the error's cause explains why.
    case clientIdentityUnavailable
    /// The server doesn't support any of the allowed TLS versions.
    case protocolVersion
    /// Any other failure, such as no common cipher.
    case handshake
}

extension TLSFailure: CustomStringConvertible {
    /// A description of the failure.
    public var description: String {
        switch self {
        case .untrustedChain: "the server's certificate isn't trusted"
        case .certificateExpired: "a certificate of the server has expired"
        case .certificateNotYetValid: "a certificate of the server isn't valid yet; check this machine's clock"
        case .wrongHost: "the server's certificate is for another host"
        case .pinMismatch(let seen):
            "the server's chain contains none of the pins, only \(seen.map(\.description).joined(separator: ", "))"
        case .hostNotPinned: "the host has no pinning policy"
        case .pinningPolicyExpired: "the host's pinning policy has expired"
        case .clientCertificateRequired: "the server requires a client certificate; set TLSConfiguration.clientIdentity"
        case .clientCertificateRefused: "the server rejected the client certificate"
        case .clientIdentityUnavailable: "the client certificate isn't available"
        case .protocolVersion: "the server doesn't support any of the allowed TLS versions"
        case .handshake: "the handshake failed"
        }
    }
}
