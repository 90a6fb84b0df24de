public import Foundation
import OpenSSLCrypto

/// A certificate authority for tests that issues the certificates of servers and clients.
///
/// ```swift
/// let authority = try MockCertificateAuthority()
/// let server = try authority.makeIntermediate().issueServerCertificate(hosts: [
///     "127.0.0.1", "api.example",
/// ])
/// let client = try authority.issueClientCertificate(name: "billing")
/// ```
///
/// Pass ``certificatePEM`` to the tested client as its only root, so that it trusts nothing outside
/// the test. By default, all certificates, including the authority's, are valid from an hour ago
/// for thirty days.
public struct MockCertificateAuthority: Sendable {
    let certificate: Certificate
    private let key: PrivateKey
    private let intermediates: [Certificate]
    /// The pin of the authority's public key, in the format of ``MockCertificate/publicKeyPin``.
    public let publicKeyPin: String

    /// Creates a root authority.
    ///
    /// - Parameters:
    ///   - name: The common name, 1 to 64 characters.
    ///   - keyType: The kind of key. The default is P-256.
    ///   - notBefore: The first valid second. The default is an hour ago.
    ///   - notAfter: The last valid second. The default is thirty days after the first.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a
    ///   certificate can't have.
    public init(
        name: String = "Mock CA",
        keyType: MockCertificate.KeyType = .p256,
        notBefore: Date? = nil,
        notAfter: Date? = nil
    ) throws {
        let template = try Self.template(name, .authority, notBefore, notAfter)
        self = try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            return try Self(template.selfSignedCertificate(key: key), key, intermediates: [])
        }
    }

    private init(_ certificate: Certificate, _ key: PrivateKey, intermediates: [Certificate]) throws(CryptoError) {
        self.certificate = certificate
        self.key = key
        self.intermediates = intermediates
        publicKeyPin = try certificate.pin()
    }

    /// The authority's certificate in PEM.
    public var certificatePEM: String { certificate.pem() }

    /// The authority's certificate in DER.
    public var certificateDER: Data { Data(certificate.der) }

    /// The authority's name, such as `CN=Mock CA`.
    public var subject: String { certificate.subject }

    /// Creates an authority that this one certifies, and whose certificates include those below the
    /// root.
    ///
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a
    ///   certificate can't have.
    package func makeIntermediate(
        name: String = "Mock Intermediate CA",
        keyType: MockCertificate.KeyType = .p256,
        notBefore: Date? = nil,
        notAfter: Date? = nil
    ) throws -> Self {
        let template = try Self.template(name, .authority, notBefore, notAfter)
        return try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            let certificate = try template.certificate(for: key.publicKey, issuer: certificate, issuerKey: self.key)
            return try Self(certificate, key, intermediates: [certificate] + intermediates)
        }
    }

    /// Issues a server certificate.
    ///
    /// - Parameters:
    ///   - hosts: The DNS names in ASCII, which may have a wildcard such as `*.example.org`, and IP
    ///     addresses. An empty list gives a certificate without a subject alternative name, which
    ///     matches no host. The default is `127.0.0.1` and `localhost`.
    ///   - notBefore: The first valid second. The default is an hour ago.
    ///   - notAfter: The last valid second. The default is thirty days after the first.
    ///   - keyType: The kind of key. The default is P-256.
    ///   - other: A certificate whose key to reuse, as a renewal that keeps its pin does.
    /// - Returns: The certificate, its key and the certificates of the authorities below the root.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a host or time that a
    ///   certificate can't have.
    public func issueServerCertificate(
        hosts: [String] = ["127.0.0.1", "localhost"],
        notBefore: Date? = nil,
        notAfter: Date? = nil,
        keyType: MockCertificate.KeyType = .p256,
        reusingKeyOf other: MockCertificate? = nil
    ) throws -> MockCertificate {
        let name = hosts.first.map { String($0.prefix(64)) } ?? "nameless"
        return try issue(Self.template(name, .server(hosts: hosts), notBefore, notAfter), keyType, other)
    }

    /// Issues a client certificate.
    ///
    /// - Parameters:
    ///   - name: The common name, 1 to 64 characters.
    ///   - notBefore: The first valid second. The default is an hour ago.
    ///   - notAfter: The last valid second. The default is thirty days after the first.
    ///   - keyType: The kind of key. The default is P-256.
    ///   - other: A certificate whose key to reuse.
    /// - Returns: The certificate, its key and the certificates of the authorities below the root.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a
    ///   certificate can't have.
    public func issueClientCertificate(
        name: String = "client",
        notBefore: Date? = nil,
        notAfter: Date? = nil,
        keyType: MockCertificate.KeyType = .p256,
        reusingKeyOf other: MockCertificate? = nil
    ) throws -> MockCertificate {
        try issue(Self.template(name, .client, notBefore, notAfter), keyType, other)
    }

    /// Returns a self-signed server certificate.
    ///
    /// - Parameters:
    ///   - hosts: The hosts, as for
    ///     ``issueServerCertificate(hosts:notBefore:notAfter:keyType:reusingKeyOf:)``.
    ///   - keyType: The kind of key. The default is P-256.
    /// - Returns: The certificate and its key.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a host that a certificate
    ///   can't have.
    public static func selfSignedServerCertificate(
        hosts: [String] = ["127.0.0.1", "localhost"],
        keyType: MockCertificate.KeyType = .p256
    ) throws -> MockCertificate {
        let name = hosts.first.map { String($0.prefix(64)) } ?? "nameless"
        let template = try template(name, .server(hosts: hosts), nil, nil)
        return try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            return try MockCertificate(CertificateChain([template.selfSignedCertificate(key: key)]), key)
        }
    }

    private func issue(
        _ template: CertificateTemplate,
        _ keyType: MockCertificate.KeyType,
        _ other: MockCertificate?
    ) throws -> MockCertificate {
        try MockError.issuing { () throws(CryptoError) in
            let key = if let other { other.key } else { try keyType.makeKey() }
            let certificate = try template.certificate(for: key.publicKey, issuer: certificate, issuerKey: self.key)
            return try MockCertificate(CertificateChain([certificate] + intermediates), key)
        }
    }

    private static func template(
        _ name: String,
        _ role: CertificateTemplate.Role,
        _ notBefore: Date?,
        _ notAfter: Date?
    ) throws -> CertificateTemplate {
        let start = notBefore ?? Date(timeIntervalSinceNow: -3600)
        let end = notAfter ?? start.addingTimeInterval(30 * 86_400)
        guard
            let first = Int64(exactly: start.timeIntervalSince1970.rounded(.down)),
            let last = Int64(exactly: end.timeIntervalSince1970.rounded(.down))
        else {
            throw MockError(.cannotIssueCertificate, "a bound of the validity period isn't a number of seconds")
        }
        return CertificateTemplate(commonName: name, role: role, notBefore: first, notAfter: last)
    }
}

extension MockError {
    static func issuing<Result>(_ body: () throws(CryptoError) -> Result) throws -> Result {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw MockError(.cannotIssueCertificate, error.message, cause: error)
        }
    }
}
