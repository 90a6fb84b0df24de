/// What a TLS server shows, asks for and accepts.
package struct TLSServerConfiguration: Sendable {
    /// A version of TLS, by the number on the wire.
    package enum Version: UInt16, Sendable, Comparable, CaseIterable {
        /// TLS 1.1, which nobody may use ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)): to show that clients don't.
        case insecureTLS11 = 0x0302
        /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
        case tls12 = 0x0303
        /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
        case tls13 = 0x0304

        /// Whether one version is older than the other.
        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether clients have to show a certificate.
    package enum ClientAuthentication: Sendable {
        /// They aren't asked.
        case none
        /// They are asked and may decline; a certificate that does not lead to one of the roots ends the handshake.
        case requested(roots: [Certificate])
        /// Without a certificate that leads to one of the roots, the handshake fails.
        case required(roots: [Certificate])
    }

    /// The server's certificate, then those of its issuers.
    package var chain: CertificateChain
    /// The key pair of the first certificate.
    package var key: PrivateKey
    /// Whether clients have to show a certificate.
    package var clientAuthentication = ClientAuthentication.none
    /// The oldest version that is spoken.
    package var minimumVersion = Version.tls12
    /// The newest version that is spoken.
    package var maximumVersion = Version.tls13
    /// Whether clients get tickets, with which their next handshake is a short one.
    package var issuesSessionTickets = true

    /// Describes a server that speaks TLS 1.2 and 1.3 and asks for no certificate.
    ///
    /// - Parameters:
    ///   - chain: The server's certificate, then those of its issuers; the root may be missing.
    ///   - key: The key pair of the first certificate.
    package init(chain: CertificateChain, key: PrivateKey) {
        self.chain = chain
        self.key = key
    }
}
