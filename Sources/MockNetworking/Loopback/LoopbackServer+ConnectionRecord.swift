public import Foundation
import OpenSSLCrypto

extension LoopbackServer {
    /// What a server knows of one of its connections.
    public struct ConnectionRecord: Sendable, Hashable {
        /// Its number; the first that the server accepted is 1.
        public let number: Int
        /// Whether neither side has ended it.
        public internal(set) var isOpen = true
        /// How many octets of requests came on it, counted after decryption.
        ///
        /// With a TLS handshake that a client ended, 0 proves that not one octet of its request was sent in a form that
        /// the server could read.
        public internal(set) var receivedOctetCount = 0
        /// The version of TLS; `nil` as long as no handshake is finished, and always without TLS.
        package internal(set) var tlsVersion: TLS.Version?
        /// The name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`.
        package internal(set) var cipherSuite: String?
        /// The host that the client named in the handshake; a client names no IP address.
        package internal(set) var serverName: String?
        /// What ALPN chose: `http/1.1`, or `nil` if the client did not offer it.
        package internal(set) var applicationProtocol: String?
        /// Whether an earlier session was resumed, in which no certificate is shown again.
        package internal(set) var isResumed = false
        /// The subject of the certificate that the client showed, such as `CN=billing`.
        package internal(set) var clientCertificateSubject: String?
        /// The certificate that the client showed, as DER.
        public internal(set) var clientCertificateDER: Data?
        /// Why the handshake did not succeed, in OpenSSL's words; `nil` if it did or goes on.
        public internal(set) var handshakeFailure: String?

        /// Whether there was a TLS handshake, and it succeeded.
        package var isHandshakeFinished: Bool { tlsVersion != nil }

        init(number: Int) {
            self.number = number
        }

        mutating func note(_ session: TLSServerSession) {
            tlsVersion = TLS.Version(session.version)
            cipherSuite = session.cipherSuite
            serverName = session.serverName
            applicationProtocol = session.applicationProtocol
            isResumed = session.isResumed
            clientCertificateSubject = session.clientCertificate?.subject
            clientCertificateDER = session.clientCertificate.map { Data($0.der) }
        }
    }
}
