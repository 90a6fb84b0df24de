public import Foundation
import OpenSSLCrypto

/// A certificate authority that lives as long as the test: it issues what servers and clients show in TLS handshakes.
///
/// ```swift
/// let authority = try MockCertificateAuthority()
/// let server = try authority.makeIntermediate().issueServerCertificate(hosts: ["127.0.0.1", "api.example"])
/// let client = try authority.issueClientCertificate(name: "billing")
/// ```
///
/// Give ``certificatePEM`` to the client under test as its only root, and nothing outside the test is trusted.
/// Certificates, also those of the authority, are valid from an hour ago for thirty days unless they are asked to be valid
/// at other times.
public struct MockCertificateAuthority: Sendable {
    /// What ``issueServerCertificate(hosts:notBefore:notAfter:keyType:reusingKeyOf:)`` issues for unless it is told.
    public static let loopbackHosts = ["127.0.0.1", "localhost"]

    let certificate: Certificate
    private let authority: CertificateIssuingAuthority
    /// The authorities between what this one issues and the root, this one first.
    private let intermediates: [Certificate]
    /// The pin of the authority's public key, as ``MockCertificate/publicKeyPin``.
    public let publicKeyPin: String

    /// Makes a root.
    ///
    /// - Parameters:
    ///   - name: Its common name, 1 to 64 characters.
    ///   - keyType: The kind of its key.
    ///   - notBefore: The first second of its validity; an hour ago if `nil`.
    ///   - notAfter: The last second of its validity; thirty days after the first if `nil`.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a certificate can't have.
    public init(
        name: String = "Mock CA",
        keyType: MockCertificate.KeyType = .p256,
        notBefore: Date? = nil,
        notAfter: Date? = nil
    ) throws {
        let template = try Self.template(name, .authority(pathLength: nil), notBefore, notAfter)
        self = try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            let certificate = try CertificateIssuingAuthority.selfSignedCertificate(template, key: key)
            return try Self(certificate, key, intermediates: [])
        }
    }

    private init(_ certificate: Certificate, _ key: PrivateKey, intermediates: [Certificate]) throws(CryptoError) {
        self.certificate = certificate
        self.intermediates = intermediates
        authority = try CertificateIssuingAuthority(certificate: certificate, key: key)
        publicKeyPin = try certificate.pin()
    }

    /// The authority's certificate as PEM.
    public var certificatePEM: String { certificate.pem() }

    /// The authority's certificate as DER.
    public var certificateDER: Data { Data(certificate.der) }

    /// The authority's name, such as `CN=Mock CA`.
    public var subject: String { certificate.subject }

    /// Makes an authority that this one vouches for.
    ///
    /// - Parameters:
    ///   - name: Its common name, 1 to 64 characters.
    ///   - keyType: The kind of its key.
    ///   - notBefore: The first second of its validity; an hour ago if `nil`.
    ///   - notAfter: The last second of its validity; thirty days after the first if `nil`.
    /// - Returns: The authority. What it issues comes with its certificate, and with those of all authorities below the root.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a certificate can't have.
    package func makeIntermediate(
        name: String = "Mock Intermediate CA",
        keyType: MockCertificate.KeyType = .p256,
        notBefore: Date? = nil,
        notAfter: Date? = nil
    ) throws -> Self {
        let template = try Self.template(name, .authority(pathLength: nil), notBefore, notAfter)
        return try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            let certificate = try authority.certificate(template, for: key.publicKey)
            return try Self(certificate, key, intermediates: [certificate] + intermediates)
        }
    }

    /// Issues what a server shows.
    ///
    /// - Parameters:
    ///   - hosts: Its names: DNS names in ASCII, with a wildcard such as `*.example.org` if you like, and IP addresses. With
    ///     none, the certificate has no subject alternative name and fits no host.
    ///   - notBefore: The first second of its validity; an hour ago if `nil`.
    ///   - notAfter: The last second of its validity; thirty days after the first if `nil`.
    ///   - keyType: The kind of its key.
    ///   - other: A certificate whose key this one gets too, as a renewal that keeps its pin does.
    /// - Returns: The certificate, its key and the certificates of the authorities below the root.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a host or time that a certificate can't have.
    public func issueServerCertificate(
        hosts: [String] = loopbackHosts,
        notBefore: Date? = nil,
        notAfter: Date? = nil,
        keyType: MockCertificate.KeyType = .p256,
        reusingKeyOf other: MockCertificate? = nil
    ) throws -> MockCertificate {
        let name = hosts.first.map { String($0.prefix(64)) } ?? "nameless"
        return try issue(Self.template(name, .server(hosts: hosts), notBefore, notAfter), keyType, other)
    }

    /// Issues what a client shows.
    ///
    /// - Parameters:
    ///   - name: Its common name, 1 to 64 characters.
    ///   - notBefore: The first second of its validity; an hour ago if `nil`.
    ///   - notAfter: The last second of its validity; thirty days after the first if `nil`.
    ///   - keyType: The kind of its key.
    ///   - other: A certificate whose key this one gets too.
    /// - Returns: The certificate, its key and the certificates of the authorities below the root.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a name or time that a certificate can't have.
    public func issueClientCertificate(
        name: String = "client",
        notBefore: Date? = nil,
        notAfter: Date? = nil,
        keyType: MockCertificate.KeyType = .p256,
        reusingKeyOf other: MockCertificate? = nil
    ) throws -> MockCertificate {
        try issue(Self.template(name, .client, notBefore, notAfter), keyType, other)
    }

    /// Makes what a server shows for which no authority vouches: its own key signs its certificate.
    ///
    /// - Parameters:
    ///   - hosts: As for ``issueServerCertificate(hosts:notBefore:notAfter:keyType:reusingKeyOf:)``.
    ///   - keyType: The kind of its key.
    /// - Returns: The certificate and its key.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for a host that a certificate can't have.
    public static func selfSignedServerCertificate(
        hosts: [String] = loopbackHosts,
        keyType: MockCertificate.KeyType = .p256
    ) throws -> MockCertificate {
        let name = hosts.first.map { String($0.prefix(64)) } ?? "nameless"
        let template = try template(name, .server(hosts: hosts), nil, nil)
        return try MockError.issuing { () throws(CryptoError) in
            let key = try keyType.makeKey()
            let certificate = try CertificateIssuingAuthority.selfSignedCertificate(template, key: key)
            return try MockCertificate(CertificateChain([certificate]), key)
        }
    }

    private func issue(
        _ template: CertificateIssuingTemplate,
        _ keyType: MockCertificate.KeyType,
        _ other: MockCertificate?
    ) throws -> MockCertificate {
        try MockError.issuing { () throws(CryptoError) in
            let key = if let other { other.key } else { try keyType.makeKey() }
            let certificate = try authority.certificate(template, for: key.publicKey)
            return try MockCertificate(CertificateChain([certificate] + intermediates), key)
        }
    }

    private static func template(
        _ name: String,
        _ role: CertificateIssuingTemplate.Role,
        _ notBefore: Date?,
        _ notAfter: Date?
    ) throws -> CertificateIssuingTemplate {
        let start = notBefore ?? Date(timeIntervalSinceNow: -3600)
        let end = notAfter ?? start.addingTimeInterval(30 * 86_400)
        guard
            let first = Int64(exactly: start.timeIntervalSince1970.rounded(.down)),
            let last = Int64(exactly: end.timeIntervalSince1970.rounded(.down))
        else {
            throw MockError(.cannotIssueCertificate, "a time of the certificate's validity is no number of seconds")
        }
        return CertificateIssuingTemplate(commonName: name, role: role, notBefore: first, notAfter: last)
    }
}

extension MockError {
    /// Turns the error of whatever makes a certificate into one of ours.
    static func issuing<Result>(_ body: () throws(CryptoError) -> Result) throws -> Result {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw MockError(.cannotIssueCertificate, error.message, cause: error)
        }
    }
}
