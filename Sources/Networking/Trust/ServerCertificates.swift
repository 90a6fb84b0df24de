internal import Foundation
internal import OpenSSLCrypto

/// The certificates that identify a server.
package enum ServerCertificates {
    /// One certificate of a chain.
    package struct Item: Sendable {
        /// The pin of the certificate's key.
        package let pin: PublicKeyPin
        /// The subject's name, for display.
        package let subject: String
        /// The first second of the validity period, in seconds since 1970 (UTC).
        package let notBefore: Int64
        /// The last second of the validity period, in seconds since 1970 (UTC).
        package let notAfter: Int64

        init(_ certificate: Certificate, pin: PublicKeyPin) {
            self.pin = pin
            subject = certificate.subject
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
        }
    }

    /// Returns the verified chain of a server, starting with its own certificate, without sending a
    /// request; an address other than an `https` URL is an `invalidRequest`.
    package static func chain(
        of address: String,
        tls: TLSConfiguration = TLSConfiguration(),
        timeout: Duration = .seconds(15)
    ) async throws -> [Item] {
        guard let url = URL(string: address), let origin = HTTPOrigin(url), origin.scheme == "https" else {
            throw NetworkError(.invalidRequest, "the URL must be https:// with a host, such as https://example.org")
        }
        let host = HostName(TLSHandshake.normalized(origin.plainHost))
        var tls = tls
        tls.inspection = { peer in
            // Skips a proxy in between.
            guard HostName(peer.host) == host else { return }
            throw Seen(chain: peer.chain)
        }
        let transport = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        var failure: any Error
        do {
            let limits = HTTPTransportLimits(deadline: .now + timeout)
            _ = try await transport.send(HTTPRequest(method: .head, url: url), limits: limits)
            failure = NetworkError(.unknown, "\(origin) responded without presenting its certificates")
        } catch {
            failure = error
        }
        await transport.close()
        guard let seen = (failure as? NetworkError)?.cause as? Seen else { throw failure }
        return try seen.chain.map { link in
            try Item(Certificate(der: link.der), pin: PublicKeyPin(octets: link.publicKeyHash))
        }
    }

    /// Returns the certificates in a file's contents: one in DER, or any number in PEM.
    package static func list(_ octets: [UInt8]) throws(TrustConfigurationError) -> [Item] {
        try TrustFile.certificates(in: octets, from: nil).map { certificate throws(TrustConfigurationError) in
            Item(certificate, pin: try PublicKeyPin(certificate))
        }
    }

    /// Returns trust roots that consist of exactly the certificates in a file's contents.
    package static func roots(_ octets: [UInt8]) throws(TrustConfigurationError) -> TrustRoots {
        TrustRoots(includesSystem: false, certificates: try TrustFile.certificates(in: octets, from: nil))
    }

    /// The error that ends the handshake once the certificates are known.
    private struct Seen: Error {
        let chain: [TLSPeer.ChainLink]
    }
}
