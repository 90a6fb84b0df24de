/// The result of a handshake.
package struct TLSServerSession: Sendable {
    /// The TLS version, or `nil` if ``TLSServerConfiguration/Version`` doesn't include it.
    package let version: TLSServerConfiguration.Version?
    /// The cipher suite's name in OpenSSL.
    package let cipherSuite: String
    /// A Boolean value that indicates whether the handshake resumed an earlier session, without
    /// exchanging certificates.
    package let isResumed: Bool
    /// The server name that the client requested
    /// ([RFC 6066 §3](https://www.rfc-editor.org/rfc/rfc6066#section-3)).
    package let serverName: String?
    /// The application protocol selected with ALPN.
    package let applicationProtocol: String?
    /// The client's certificate, sent in this session or in the resumed one.
    package let clientCertificate: Certificate?
}
