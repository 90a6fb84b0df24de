/// What a handshake agreed on.
package struct TLSServerSession: Sendable {
    /// The version; `nil` for one that ``TLSServerConfiguration/Version`` does not name.
    package let version: TLSServerConfiguration.Version?
    /// The cipher suite's name, as OpenSSL writes it.
    package let cipherSuite: String
    /// Whether an earlier session was resumed, without certificates being shown again.
    package let isResumed: Bool
    /// The name that the client asked for ([RFC 6066 §3](https://www.rfc-editor.org/rfc/rfc6066#section-3)).
    package let serverName: String?
    /// What ALPN chose.
    package let applicationProtocol: String?
    /// The certificate that the client showed, in this session or in the one that was resumed.
    package let clientCertificate: Certificate?
}
