/// The settings of a TLS server.
package struct TLSServerConfiguration: Sendable {
    /// A version of TLS; the raw value is its number in the protocol.
    package enum Version: UInt16, Sendable, Comparable, CaseIterable {
        /// TLS 1.1, which is deprecated ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)); for
        /// testing that clients reject it.
        case insecureTLS11 = 0x0302
        /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
        case tls12 = 0x0303
        /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
        case tls13 = 0x0304

        /// Compares the ages of two versions.
        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// The policy for client certificates.
    package enum ClientAuthentication: Sendable {
        /// The server doesn't request a certificate.
        case none
        /// The server requests a certificate, which is optional; one that doesn't lead to one of
        /// the roots ends the handshake.
        case requested(roots: [Certificate])
        /// The handshake fails without a certificate that leads to one of the roots.
        case required(roots: [Certificate])
    }

    /// The server's certificate, then those of its issuers.
    package var chain: CertificateChain
    /// The key pair of the first certificate.
    package var key: PrivateKey
    /// The policy for client certificates; by default, none are requested.
    package var clientAuthentication = ClientAuthentication.none
    /// The oldest TLS version to accept, 1.2 by default.
    package var minimumVersion = Version.tls12
    /// The newest TLS version to accept, 1.3 by default.
    package var maximumVersion = Version.tls13
    /// A Boolean value that indicates whether clients get tickets for resuming sessions, as they do
    /// by default.
    package var issuesSessionTickets = true

    /// Creates a configuration for TLS 1.2 and 1.3 that doesn't request client certificates.
    package init(chain: CertificateChain, key: PrivateKey) {
        self.chain = chain
        self.key = key
    }
}
