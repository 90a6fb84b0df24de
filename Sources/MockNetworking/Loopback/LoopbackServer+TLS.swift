import OpenSSLCrypto

extension LoopbackServer {
    /// How a server speaks TLS: what it shows, what it asks of clients, and which versions.
    ///
    /// ```swift
    /// let authority = try MockCertificateAuthority()
    /// var configuration = LoopbackServer.Configuration()
    /// configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
    /// configuration.tls?.clientAuthentication = .required(issuedBy: authority)
    /// let server = try LoopbackServer.start(configuration: configuration)
    /// ```
    public struct TLS: Sendable {
        /// What the server shows, with the key that it proves to have.
        public var certificate: MockCertificate
        /// Whether clients have to show a certificate; ``ClientAuthentication/none`` by default.
        public var clientAuthentication = ClientAuthentication.none
        /// The oldest version that the server speaks; TLS 1.2 by default.
        public var minimumVersion = Version.tls12
        /// The newest version that the server speaks; TLS 1.3 by default.
        public var maximumVersion = Version.tls13
        /// Whether clients get tickets to resume their sessions with; they do by default.
        package var issuesSessionTickets = true

        /// Describes a server that speaks TLS 1.2 and 1.3, gives out tickets and asks for no certificate.
        ///
        /// - Parameter certificate: What the server shows, with its key.
        public init(certificate: MockCertificate) {
            self.certificate = certificate
        }

        func makeContext() throws(MockError) -> TLSServerContext {
            var configuration = TLSServerConfiguration(chain: certificate.chain, key: certificate.key)
            let roots = clientAuthentication.authorities.map(\.certificate)
            switch clientAuthentication.demand {
            case .nothing: break
            case .request: configuration.clientAuthentication = .requested(roots: roots)
            case .require: configuration.clientAuthentication = .required(roots: roots)
            }
            configuration.minimumVersion = minimumVersion.wrapped
            configuration.maximumVersion = maximumVersion.wrapped
            configuration.issuesSessionTickets = issuesSessionTickets
            do throws(CryptoError) {
                return try TLSServerContext(configuration)
            } catch {
                throw MockError(.cannotStart, "the loopback server can't speak TLS; look at the cause", cause: error)
            }
        }
    }
}

extension LoopbackServer.TLS {
    /// A version of TLS.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        let wrapped: TLSServerConfiguration.Version

        /// TLS 1.1, which is forbidden ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)): for tests that clients refuse it.
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

    /// What a server asks of its clients ([RFC 8446 §4.3.2](https://www.rfc-editor.org/rfc/rfc8446#section-4.3.2)).
    public struct ClientAuthentication: Sendable {
        enum Demand {
            case nothing, request, require
        }

        let demand: Demand
        let authorities: [MockCertificateAuthority]

        /// Clients aren't asked for a certificate.
        public static let none = Self(demand: .nothing, authorities: [])

        /// Clients are asked for a certificate and may go on without one; another authority's ends the handshake.
        ///
        /// - Parameter authorities: Whose certificates are taken. An intermediate authority stands for itself.
        /// - Returns: The demand.
        public static func requested(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(demand: .request, authorities: authorities)
        }

        /// Without a certificate of one of the authorities the handshake fails.
        ///
        /// - Parameter authorities: Whose certificates are taken. An intermediate authority stands for itself.
        /// - Returns: The demand.
        public static func required(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(demand: .require, authorities: authorities)
        }
    }
}

extension LoopbackServer.TLS.Version {
    init?(_ version: TLSServerConfiguration.Version?) {
        guard let version else { return nil }
        wrapped = version
    }
}
