public import Foundation
import OpenSSLCrypto

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
        /// The name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`.
        package internal(set) var cipherSuite: String?
        /// The host name in the client's handshake; clients never send an IP address.
        package internal(set) var serverName: String?
        /// The protocol that ALPN selected: `http/1.1`, or `nil` if the client didn't offer it.
        package internal(set) var applicationProtocol: String?
        /// A Boolean value that indicates whether an earlier session was resumed, which doesn't
        /// present certificates again.
        package internal(set) var isResumed = false
        /// The subject of the client's certificate, such as `CN=billing`.
        package internal(set) var clientCertificateSubject: String?
        /// The client's certificate in DER.
        public internal(set) var clientCertificateDER: Data?
        /// OpenSSL's reason for the handshake failure; `nil` if it succeeded or is still in
        /// progress.
        public internal(set) var handshakeFailure: String?

        /// A Boolean value that indicates whether a TLS handshake succeeded.
        package var isHandshakeFinished: Bool { tlsVersion != nil }

        mutating func note(_ session: TLSServerSession) {
            tlsVersion = session.version.map { TLS.Version(wrapped: $0) }
            cipherSuite = session.cipherSuite
            serverName = session.serverName
            applicationProtocol = session.applicationProtocol
            isResumed = session.isResumed
            clientCertificateSubject = session.clientCertificate?.subject
            clientCertificateDER = session.clientCertificate.map { Data($0.der) }
        }
    }
}
