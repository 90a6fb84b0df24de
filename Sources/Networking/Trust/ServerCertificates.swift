internal import Foundation
internal import OpenSSLCrypto
internal import Synchronization

/// The certificates by which a server proves who it is.
package enum ServerCertificates {
    /// One certificate of a chain.
    package struct Item: Sendable {
        /// The pin of its key.
        package let pin: PublicKeyPin
        /// The subject's name, to show.
        package let subject: String
        /// The first second of its validity, counted from the start of 1970 (UTC).
        package let notBefore: Int64
        /// The last second of its validity, counted from the start of 1970 (UTC).
        package let notAfter: Int64

        init(_ certificate: Certificate, pin: PublicKeyPin) {
            self.pin = pin
            subject = certificate.subject
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
        }
    }

    /// Connects to a server, and ends the connection once its chain and its name are verified: no request is sent.
    ///
    /// - Parameters:
    ///   - address: An `https` URL; only its host and port count.
    ///   - tls: Under which roots, and as whom.
    ///   - timeout: The longest time it may take.
    /// - Returns: The verified chain, the server's own certificate first.
    /// - Throws: ``NetworkError``.
    package static func chain(
        of address: String,
        tls: TLSConfiguration = TLSConfiguration(),
        timeout: Duration = .seconds(15)
    ) async throws -> [Item] {
        guard let url = URL(string: address), let origin = HTTPOrigin(url), origin.scheme == "https" else {
            throw NetworkError(.invalidRequest, "the URL must be https:// with a host, such as https://example.org")
        }
        let host = HostName(TLSHandshake.normalized(origin.plainHost))
        let shelf = Shelf()
        var tls = tls
        tls.inspection = { peer in
            // A proxy on the way is not whom the question is about.
            guard HostName(peer.host) == host else { return }
            shelf.put(peer.chain)
            throw Seen()
        }
        let transport = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        var failure: (any Error)?
        do {
            let limits = HTTPTransportLimits(deadline: .now + timeout)
            _ = try await transport.send(HTTPTransportRequest(method: .head, url: url), limits: limits)
        } catch  where !((error as? NetworkError)?.cause is Seen) {
            failure = error
        } catch {}
        await transport.close()
        if let failure { throw failure }
        guard !shelf.chain.isEmpty else {
            throw NetworkError(.unknown, "\(origin) answered without having shown its certificates")
        }
        return try shelf.chain.map { link in
            try Item(Certificate(der: link.der), pin: PublicKeyPin(octets: link.publicKeyHash))
        }
    }

    /// The certificates of a file's octets: one in DER, or any number in PEM.
    ///
    /// - Parameter octets: The file's contents.
    /// - Returns: The certificates in their order.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``.
    package static func list(_ octets: [UInt8]) throws(TrustConfigurationError) -> [Item] {
        var items: [Item] = []
        for certificate in try TrustFile.certificates(in: octets, from: nil) {
            items.append(Item(certificate, pin: try PublicKeyPin(certificate)))
        }
        return items
    }

    /// Reads roots, like ``TrustRoots/pem(_:)`` or ``TrustRoots/der(_:)``.
    ///
    /// - Parameter octets: A file's contents: one certificate in DER, or any number in PEM.
    /// - Returns: These roots and no others.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``.
    package static func roots(_ octets: [UInt8]) throws(TrustConfigurationError) -> TrustRoots {
        TrustRoots(includesSystem: false, certificates: try TrustFile.certificates(in: octets, from: nil))
    }

    /// Ends a handshake that has shown what there is to see.
    private struct Seen: Error {}

    private final class Shelf: Sendable {
        private let links = Mutex<[TLSPeer.ChainLink]>([])

        var chain: [TLSPeer.ChainLink] { links.withLock { $0 } }

        func put(_ chain: [TLSPeer.ChainLink]) { links.withLock { $0 = chain } }
    }
}
