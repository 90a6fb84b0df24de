internal import COpenSSL

/// A secure version of TLS.
package enum TLSProtocolVersion: Sendable {
    /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
    case tls12
    /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
    case tls13

    init?(number: Int32) {
        switch number {
        case TLS1_2_VERSION: self = .tls12
        case TLS1_3_VERSION: self = .tls13
        default: return nil
        }
    }

    /// OpenSSL's number for the version.
    var number: Int {
        switch self {
        case .tls12: Int(TLS1_2_VERSION)
        case .tls13: Int(TLS1_3_VERSION)
        }
    }
}
