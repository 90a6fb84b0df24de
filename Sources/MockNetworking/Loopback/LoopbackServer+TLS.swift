import OpenSSLCrypto

extension LoopbackServer {
    /// The TLS settings of a server: its certificate, its demands on clients and its versions.
    ///
    /// ```swift
    /// let authority = try MockCertificateAuthority()
    /// var configuration = LoopbackServer.Configuration()
    /// configuration.tls = LoopbackServer.TLS(
    ///     certificate: try authority.issueServerCertificate()
    /// )
    /// configuration.tls?.clientAuthentication = .required(issuedBy: authority)
    /// let server = try LoopbackServer.start(configuration: configuration)
    /// ```
    public struct TLS: Sendable {
        /// The server's certificate, with its key.
        public var certificate: MockCertificate
        /// The server's demand for client certificates; the default is
        /// ``ClientAuthentication/none``.
        public var clientAuthentication = ClientAuthentication.none
        /// The oldest supported version; the default is TLS 1.2.
        public var minimumVersion = Version.tls12
        /// The newest supported version; the default is TLS 1.3.
        public var maximumVersion = Version.tls13
        /// A Boolean value that indicates whether clients get tickets for resuming sessions; the
        /// default is `true`.
        package var issuesSessionTickets = true

        /// Creates the settings of a server with TLS 1.2 and 1.3, session tickets and no demand for
        /// client certificates.
        ///
        /// - Parameter certificate: The server's certificate, with its key.
        public init(certificate: MockCertificate) {
            self.certificate = certificate
        }

        func makeContext() throws(MockError) -> TLSServerContext {
            var configuration = TLSServerConfiguration(chain: certificate.chain, key: certificate.key)
            configuration.clientAuthentication = clientAuthentication.wrapped
            configuration.minimumVersion = minimumVersion.wrapped
            configuration.maximumVersion = maximumVersion.wrapped
            configuration.issuesSessionTickets = issuesSessionTickets
            do throws(CryptoError) {
                return try TLSServerContext(configuration)
            } catch {
                throw MockError(.cannotStart, "the loopback server can't use TLS; see the cause", cause: error)
            }
        }
    }
}

extension LoopbackServer.TLS {
    /// A version of TLS.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        let wrapped: TLSServerConfiguration.Version

        /// TLS 1.1, which is forbidden ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)), for
        /// testing that clients reject it.
        package static let insecureTLS11 = Self(wrapped: .insecureTLS11)
        /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
        public static let tls12 = Self(wrapped: .tls12)
        /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
        public static let tls13 = Self(wrapped: .tls13)

        /// The name, such as `TLSv1.3`.
        public var description: String {
            switch wrapped {
            case .insecureTLS11: "TLSv1.1"
            case .tls12: "TLSv1.2"
            case .tls13: "TLSv1.3"
            }
        }
    }

    /// A server's demand for client certificates
    /// ([RFC 8446 §4.3.2](https://www.rfc-editor.org/rfc/rfc8446#section-4.3.2)).
    public struct ClientAuthentication: Sendable {
        let wrapped: TLSServerConfiguration.ClientAuthentication

        /// No request for a certificate.
        public static let none = Self(wrapped: .none)

        /// Requests a certificate, but accepts clients without one.
        ///
        /// A certificate from another authority fails the handshake.
        ///
        /// - Parameter authorities: The accepted authorities. An intermediate authority counts only
        ///   for itself.
        /// - Returns: The demand.
        public static func requested(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(wrapped: .requested(roots: authorities.map(\.certificate)))
        }

        /// Fails the handshake without a certificate from one of the authorities.
        ///
        /// - Parameter authorities: The accepted authorities. An intermediate authority counts only
        ///   for itself.
        /// - Returns: The demand.
        public static func required(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(wrapped: .required(roots: authorities.map(\.certificate)))
        }
    }
}
