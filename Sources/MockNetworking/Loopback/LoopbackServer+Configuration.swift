public import Foundation
public import Networking
import OpenSSLCrypto

extension LoopbackServer {
    /// The limits, TLS settings and time source of a server.
    public struct Configuration: Sendable {
        /// The maximum size of a request header in bytes, beyond which the status is 431; 64 KiB by
        /// default.
        public var maximumHeaderSize = 64 << 10
        /// The maximum number of header fields, beyond which the status is 431; 256 by default.
        package var maximumHeaderCount = 256
        /// The maximum size of a body in bytes, beyond which the status is 413; 64 MiB by default.
        public var maximumBodySize = 64 << 20
        package var continuePolicy = ContinuePolicy.answer
        /// A Boolean value that indicates whether ``LoopbackServer/requests`` records requests;
        /// they are counted in any case.
        package var recordsRequests = true
        /// A Boolean value that indicates whether ``LoopbackServer/connections`` records
        /// connections; they are counted in any case.
        package var recordsConnections = true
        /// The TLS settings; with `nil`, the default, the server uses plain HTTP.
        public var tls: TLS?
        /// The time source for arrival times and delays.
        public var time = TimeSource.system

        /// Creates the default configuration.
        public init() {}

        var parserLimits: RequestParser.Limits {
            RequestParser.Limits(
                head: RequestHeadReader.Limits(fields: maximumHeaderSize, fieldCount: maximumHeaderCount),
                body: maximumBodySize
            )
        }
    }

    /// The server's behavior for `Expect: 100-continue`
    /// ([RFC 9110 §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)).
    package enum ContinuePolicy: Sendable, Hashable {
        /// Responds with `100 (Continue)` unless the body has already arrived.
        case answer
        /// Waits for the body without a response, like old servers.
        case ignore
        /// Responds with a status code, such as 417 or 401, without reading the body or calling a
        /// route, and closes the connection.
        case refuse(Int)
    }

    /// A request that the server rejected because it was malformed or exceeded a limit.
    public struct Rejection: Sendable, Hashable {
        /// The number of the connection; the first connection has the number 1.
        public let connection: Int
        /// The status code of the response, after which the server closed the connection.
        public let status: Int
        /// The reason for the rejection.
        public let reason: String
    }

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
        package var issuesSessionTickets = true

        /// Creates the settings of a server with TLS 1.2 and 1.3, session tickets and no demand for
        /// client certificates.
        public init(certificate: MockCertificate) { self.certificate = certificate }

        func makeContext() throws(MockError) -> TLSServerContext {
            do throws(CryptoError) {
                return try TLSServerContext(self)
            } catch {
                throw MockError(.cannotStart, "the loopback server can't use TLS; see the cause", cause: error)
            }
        }
    }
}

extension LoopbackServer.TLS {
    /// A version of TLS.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        /// The number in the protocol.
        let number: Int32

        /// TLS 1.1, which is forbidden ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)), for
        /// testing that clients reject it.
        package static let insecureTLS11 = Self(number: 0x0302)
        /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
        public static let tls12 = Self(number: 0x0303)
        /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
        public static let tls13 = Self(number: 0x0304)

        /// The name, such as `TLSv1.3`.
        public var description: String { "TLSv1.\(number & 0xFF &- 1)" }
    }

    /// A server's demand for client certificates
    /// ([RFC 8446 §4.3.2](https://www.rfc-editor.org/rfc/rfc8446#section-4.3.2)).
    public struct ClientAuthentication: Sendable {
        /// `nil` requests no certificate.
        let roots: [Certificate]?
        let isRequired: Bool

        /// No request for a certificate.
        public static let none = Self(roots: nil, isRequired: false)

        /// Requests a certificate, but accepts clients without one.
        ///
        /// A certificate from another authority fails the handshake.
        ///
        /// - Parameter authorities: The accepted authorities. An intermediate authority counts only
        ///   for itself.
        /// - Returns: The demand.
        public static func requested(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(roots: authorities.map(\.certificate), isRequired: false)
        }

        /// Fails the handshake without a certificate from one of the authorities.
        ///
        /// - Parameter authorities: The accepted authorities. An intermediate authority counts only
        ///   for itself.
        /// - Returns: The demand.
        public static func required(issuedBy authorities: MockCertificateAuthority...) -> Self {
            Self(roots: authorities.map(\.certificate), isRequired: true)
        }
    }
}

extension LoopbackServer {
    /// A record of a server's connection.
    public struct ConnectionRecord: Sendable, Hashable {
        /// The connection's number; the first connection has the number 1.
        public let number: Int
        /// A Boolean value that indicates whether neither side has closed the connection.
        public internal(set) var isOpen = true
        /// The number of request bytes received, after decryption.
        ///
        /// If the client ends the TLS handshake, 0 proves that it sent no readable part of its
        /// request.
        public internal(set) var receivedOctetCount = 0
        /// The TLS version; `nil` before the end of the handshake, and without TLS.
        package internal(set) var tlsVersion: TLS.Version?
        package internal(set) var cipherSuite: String?
        /// The host name in the client's handshake; clients never send an IP address.
        package internal(set) var serverName: String?
        /// The protocol that ALPN selected: `http/1.1`, or `nil` if the client didn't offer it.
        package internal(set) var applicationProtocol: String?
        /// A Boolean value that indicates whether an earlier session was resumed, which doesn't
        /// present certificates again.
        package internal(set) var isResumed = false
        package internal(set) var clientCertificateSubject: String?
        /// The client's certificate in DER.
        public internal(set) var clientCertificateDER: Data?
        /// OpenSSL's reason for the handshake failure; `nil` if it succeeded or is still in
        /// progress.
        public internal(set) var handshakeFailure: String?

        package var isHandshakeFinished: Bool { tlsVersion != nil }
    }
}
