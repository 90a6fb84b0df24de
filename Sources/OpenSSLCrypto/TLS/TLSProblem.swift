internal import COpenSSL

/// The reason for a failed TLS handshake.
package enum TLSProblem: Error, Sendable {
    /// With OpenSSL's message.
    case untrusted(String)
    case expired
    case notYetValid
    case wrongHost
    /// By the policy's evaluation.
    case refused(any Error)
    case identityUnavailable(any Error)
    /// The server requires a certificate, but the client didn't send one.
    case clientCertificateRequired
    case clientCertificateRefused
    case protocolVersion
    /// The server ended the handshake with another alert
    /// ([RFC 8446 §6](https://www.rfc-editor.org/rfc/rfc8446#section-6)).
    case alert(UInt8)

    init(verification code: Int32) {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: self = .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: self = .notYetValid
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .wrongHost
        default:
            let reason = unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) }
            self = .untrusted(reason ?? "X509_V_ERR \(code)")
        }
    }

    init(alert description: UInt8, wasAsked: Bool, hasAnswered: Bool) {
        switch Int32(description) {
        case SSL3_AD_BAD_CERTIFICATE, SSL3_AD_UNSUPPORTED_CERTIFICATE, SSL3_AD_CERTIFICATE_REVOKED,
            SSL3_AD_CERTIFICATE_EXPIRED, SSL3_AD_CERTIFICATE_UNKNOWN, TLS1_AD_UNKNOWN_CA, TLS1_AD_ACCESS_DENIED,
            TLS1_AD_DECRYPT_ERROR:
            self =
                !wasAsked ? .alert(description) : hasAnswered ? .clientCertificateRefused : .clientCertificateRequired
        case TLS13_AD_CERTIFICATE_REQUIRED: self = .clientCertificateRequired
        // TLS 1.2 doesn't have certificate_required.
        case SSL3_AD_HANDSHAKE_FAILURE where wasAsked && !hasAnswered: self = .clientCertificateRequired
        case TLS1_AD_PROTOCOL_VERSION: self = .protocolVersion
        default: self = .alert(description)
        }
    }

    package static func name(ofAlert description: UInt8) -> String {
        unsafe SSL_alert_desc_string_long(Int32(description)).map { unsafe String(cString: $0) }
            ?? "alert \(description)"
    }
}

/// A secure version of TLS; the raw value is its number in the protocol.
package enum TLSProtocolVersion: Int, Sendable {
    /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
    case tls12 = 0x0303
    /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
    case tls13 = 0x0304
}
