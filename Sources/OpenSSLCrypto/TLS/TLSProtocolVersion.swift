/// A secure version of TLS; the raw value is its number in the protocol.
package enum TLSProtocolVersion: Int, Sendable {
    /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
    case tls12 = 0x0303
    /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
    case tls13 = 0x0304
}
