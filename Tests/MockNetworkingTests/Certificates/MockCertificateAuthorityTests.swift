import COpenSSL
import Foundation
import MockNetworking
import OpenSSLCrypto
import TestSupport
import Testing

/// Tests of the issued certificates, parsed by OpenSSL.
struct MockCertificateAuthorityTests {
    private let now = Int64(Date().timeIntervalSince1970)

    private func read(_ certificate: MockCertificate) throws -> Certificate {
        try Certificate(der: Array(certificate.certificateDER))
    }

    @Test("Issues a verifiable chain of root, intermediate authority and leaf")
    func chain() throws {
        let root = try MockCertificateAuthority(name: "Root")
        let intermediate = try root.makeIntermediate(name: "Between")
        let leaf = try intermediate.makeIntermediate(name: "Below").issueServerCertificate()
        let certificates = try Certificate.list(pem: leaf.chainPEM)
        #expect(certificates.map(\.subject) == ["CN=127.0.0.1", "CN=Below", "CN=Between"])
        #expect(certificates.map(\.issuer) == ["CN=Below", "CN=Between", "CN=Root"])
        let trusted = try Certificate(pem: root.certificatePEM)
        #expect(try CertificateChain(certificates).verified(roots: [trusted], at: now).count == 4)
        #expect(throws: CryptoError(.certificateNotTrusted, "")) {
            let other = try MockCertificateAuthority(name: "Root")
            _ = try CertificateChain(certificates).verified(roots: [Certificate(pem: other.certificatePEM)], at: now)
        }
        #expect(try Certificate.list(pem: leaf.withoutIssuers().chainPEM).count == 1)
        #expect(leaf.subject == "CN=127.0.0.1")
        #expect(intermediate.subject == "CN=Between")
        #expect(Data(trusted.der) == root.certificateDER)
    }

    @Test("Sets the extensions for each certificate's purpose", .shows("RFC 5280"))
    func extensions() throws {
        let root = try MockCertificateAuthority()
        let intermediate = try root.makeIntermediate()
        let issuing = UInt32(X509v3_KU_KEY_CERT_SIGN | X509v3_KU_CRL_SIGN)
        let signing = UInt32(X509v3_KU_DIGITAL_SIGNATURE)
        let rows: [(Data, isAuthority: Bool, usage: UInt32, extended: Int32?)] = [
            (root.certificateDER, true, issuing, nil),
            (intermediate.certificateDER, true, issuing, nil),
            (try intermediate.issueServerCertificate().certificateDER, false, signing, XKU_SSL_SERVER),
            (try intermediate.issueClientCertificate().certificateDER, false, signing, XKU_SSL_CLIENT),
            (
                try intermediate.issueServerCertificate(keyType: .rsa2048).certificateDER, false,
                signing | UInt32(X509v3_KU_KEY_ENCIPHERMENT), XKU_SSL_SERVER
            ),
            (
                try MockCertificateAuthority.selfSignedServerCertificate().certificateDER, false, signing,
                XKU_SSL_SERVER
            ),
        ]
        for row in rows {
            let x509 = unsafe certificate(row.0)
            defer { unsafe X509_free(x509) }
            #expect(unsafe X509_get_version(x509) == 2)
            #expect(unsafe (X509_check_ca(x509) == 1) == row.isAuthority)
            #expect(unsafe X509_get_key_usage(x509) == row.usage)
            #expect(unsafe X509_get_extended_key_usage(x509) == row.extended.map { UInt32($0) } ?? UInt32.max)
            #expect(unsafe X509_get0_subject_key_id(x509) != nil)
            let isSelfSigned = unsafe X509_self_signed(x509, 1) == 1
            #expect(unsafe (X509_get0_authority_key_id(x509) == nil) == isSelfSigned)
            let serialNumber = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nil)
            #expect(unsafe BN_is_negative(serialNumber) == 0)
            unsafe BN_free(serialNumber)
            for identifier in [NID_basic_constraints, NID_key_usage] {
                let index = unsafe X509_get_ext_by_NID(x509, identifier, -1)
                #expect(unsafe X509_EXTENSION_get_critical(X509_get_ext(x509, index)) == 1)
            }
        }
    }

    @Test("Accepts host names and addresses")
    func hosts() throws {
        let authority = try MockCertificateAuthority()
        let hosts = ["api.example.org", "*.example.com", "127.0.0.1", "::1", "xn--bcher-kva.example"]
        let x509 = unsafe certificate(try authority.issueServerCertificate(hosts: hosts).certificateDER)
        defer { unsafe X509_free(x509) }
        for (name, fits) in [
            ("api.example.org", true), ("a.example.com", true), ("xn--bcher-kva.example", true),
            ("example.com", false), ("a.b.example.com", false), ("example.org", false), ("127.0.0.1", false),
        ] {
            #expect(unsafe (X509_check_host(x509, name, name.utf8.count, 0, nil) == 1) == fits, "\(name)")
        }
        #expect(unsafe X509_check_ip_asc(x509, "127.0.0.1", 0) == 1)
        #expect(unsafe X509_check_ip_asc(x509, "::1", 0) == 1)
        #expect(unsafe X509_check_ip_asc(x509, "127.0.0.2", 0) == 0)
        let nameless = unsafe certificate(try authority.issueServerCertificate(hosts: []).certificateDER)
        defer { unsafe X509_free(nameless) }
        #expect(unsafe X509_get_ext_by_NID(nameless, NID_subject_alt_name, -1) == -1)
    }

    @Test(
        "Rejects hosts that a certificate can't contain",
        arguments: ["", "a b", "a,DNS:b", "bücher.example", "a\0b", String(repeating: "a", count: 254)]
    )
    func badHosts(_ host: String) throws {
        let authority = try MockCertificateAuthority()
        let error = #expect(throws: MockError(.cannotIssueCertificate, "")) {
            try authority.issueServerCertificate(hosts: ["localhost", host])
        }
        #expect((error?.cause as? CryptoError)?.code == .invalidArgument)
    }

    @Test("Rejects names and times that a certificate can't have")
    func badTemplates() throws {
        let authority = try MockCertificateAuthority()
        let refused = MockError(.cannotIssueCertificate, "")
        #expect(throws: refused) { try authority.issueClientCertificate(name: "") }
        #expect(throws: refused) { try authority.issueClientCertificate(name: String(repeating: "a", count: 65)) }
        #expect(throws: refused) { try MockCertificateAuthority(name: "") }
        let date = Date(timeIntervalSince1970: 1e9)
        #expect(throws: refused) { try authority.issueClientCertificate(notBefore: date, notAfter: date - 1) }
        #expect(throws: refused) { try authority.issueClientCertificate(notAfter: Date(timeIntervalSince1970: 1e15)) }
        #expect(throws: refused) {
            try authority.issueClientCertificate(notAfter: Date(timeIntervalSince1970: .infinity))
        }
        let error = #expect(throws: refused) {
            try authority.issueClientCertificate(notAfter: Date(timeIntervalSince1970: 1e17))
        }
        #expect(error?.message.contains("must be within the years 0 to 9999") == true)
        #expect(try authority.issueClientCertificate(name: "Bücher, CN=x").subject == #"CN=Bücher\, CN=x"#)
    }

    @Test("Uses the requested validity period, or one from an hour ago for thirty days")
    func validity() throws {
        let authority = try MockCertificateAuthority()
        let date = Date(timeIntervalSince1970: 1e9)
        let past = try authority.issueServerCertificate(notBefore: date, notAfter: date + 10.9)
        #expect(past.notBefore == date)
        #expect(past.notAfter == date + 10)
        let earliest = Date(timeIntervalSinceNow: -3601)
        let usual = try authority.issueServerCertificate()
        #expect((earliest...Date(timeIntervalSinceNow: -3600)).contains(usual.notBefore))
        #expect(usual.notAfter.timeIntervalSince(usual.notBefore) == 30 * 86_400)
        let late = try authority.issueServerCertificate(notAfter: Date(timeIntervalSince1970: 4e9))
        #expect(late.notAfter.timeIntervalSince1970 == 4e9)
    }

    @Test("Pins the public key, which a renewal can keep")
    func pins() throws {
        let authority = try MockCertificateAuthority()
        let first = try authority.issueServerCertificate()
        let renewed = try authority.issueServerCertificate(reusingKeyOf: first)
        let other = try authority.issueServerCertificate()
        #expect(first.publicKeyPin == renewed.publicKeyPin)
        #expect(first.certificateDER != renewed.certificateDER)
        #expect(first.publicKeyPin != other.publicKeyPin)
        let hash = try read(first).subjectPublicKeyInfo.withBytes { try HashFunction.sha256.hash($0) }
        #expect(first.publicKeyPin == "sha256/" + Data(hash).base64EncodedString())
        #expect(authority.publicKeyPin.hasPrefix("sha256/"))
        #expect(authority.publicKeyPin != first.publicKeyPin)
    }

    @Test("Exports keys and certificates in the usual formats, and reads them back")
    func forms() throws {
        let authority = try MockCertificateAuthority()
        let identity = try authority.makeIntermediate().issueClientCertificate(name: "billing")
        let copy = try MockCertificate(chainPEM: identity.chainPEM, privateKeyPEM: identity.privateKeyPEM)
        #expect(copy.certificateDER == identity.certificateDER)
        #expect(copy.publicKeyPin == identity.publicKeyPin)
        let encrypted = try identity.encryptedPrivateKeyPEM(password: "secret")
        #expect(encrypted.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        let key = unsafe privateKey(encrypted, password: "secret")
        #expect(unsafe key != nil)
        unsafe EVP_PKEY_free(key)
        ERR_clear_error()
        #expect(!"\(identity)\(Mirror(reflecting: identity).children.count)".contains("PRIVATE"))
    }

    @Test("Rejects a mismatched key and an invalid certificate")
    func mismatch() throws {
        let authority = try MockCertificateAuthority()
        let one = try authority.issueClientCertificate()
        let other = try authority.issueClientCertificate()
        let refused = MockError(.cannotIssueCertificate, "")
        #expect(throws: refused) { try MockCertificate(chainPEM: one.chainPEM, privateKeyPEM: other.privateKeyPEM) }
        #expect(throws: refused) { try MockCertificate(chainPEM: "", privateKeyPEM: other.privateKeyPEM) }
        #expect(throws: refused) { try MockCertificate(chainPEM: one.chainPEM, privateKeyPEM: "") }
        #expect(throws: refused) { try one.encryptedPrivateKeyPEM(password: "") }
        #expect(throws: refused) { try one.pkcs12(password: "a\0b") }
    }

    @Test("Exports the key, its certificate and its issuers' certificates as PKCS#12")
    func pkcs12() throws {
        let identity = try MockCertificateAuthority().makeIntermediate().issueClientCertificate()
        let archive = try identity.pkcs12(password: "pässword")
        let parsed = unsafe archive.withUnsafeBytes { bytes in
            var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe d2i_PKCS12(nil, &start, bytes.count)
        }
        defer { unsafe PKCS12_free(parsed) }
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var issuers: OpaquePointer?
        #expect(unsafe PKCS12_parse(parsed, "wrong", &key, &leaf, &issuers) == 0)
        #expect(unsafe PKCS12_parse(parsed, "pässword", &key, &leaf, &issuers) == 1)
        #expect(unsafe X509_check_private_key(leaf, key) == 1)
        #expect(unsafe OPENSSL_sk_num(issuers) == 1)
        unsafe EVP_PKEY_free(key)
        unsafe X509_free(leaf)
        let issuer = unsafe OPENSSL_sk_pop(issuers).map { OpaquePointer($0) }
        unsafe X509_free(issuer)
        unsafe OPENSSL_sk_free(issuers)
        ERR_clear_error()
    }

    @Test(
        "A server can use every kind of key",
        arguments: [MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519]
    )
    func keyTypes(_ type: MockCertificate.KeyType) async throws {
        let root = try MockCertificateAuthority(keyType: type)
        let identity = try root.makeIntermediate(keyType: type).issueServerCertificate(keyType: type)
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: identity)
        try await withLoopbackServer(configuration: configuration) { server in
            for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
                try await withTLS(server, .init(roots: [root], maximumVersion: version)) { try $0.handshake() }
            }
            configuration.tls = LoopbackServer.TLS(certificate: try identity.withoutIssuers())
            try await withLoopbackServer(configuration: configuration) { server in
                _ = await #expect(throws: RawTLSConnection.Failure.self) {
                    try await withTLS(server, .init(roots: [root])) { try $0.handshake() }
                }
            }
        }
    }

    @Test(
        "Starting a server fails with a certificate or an issuer that is signed with SHA-1",
        arguments: [(0, "The server can't use its"), (1, "The server can't use a certificate of its chain")]
    )
    func weakSignature(index: Int, text: String) throws {
        let identity = try MockCertificateAuthority().makeIntermediate().issueServerCertificate()
        var chain = try Certificate.list(pem: identity.chainPEM)
        let x509 = unsafe certificate(Data(chain[index].der))
        let key = unsafe privateKey(identity.privateKeyPEM)
        defer {
            unsafe X509_free(x509)
            unsafe EVP_PKEY_free(key)
        }
        #expect(unsafe X509_sign(x509, key, EVP_sha1()) > 0)
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509(x509, &start)
        defer { unsafe CRYPTO_free(start, nil, 0) }
        chain[index] = try Certificate(der: unsafe Array(UnsafeBufferPointer(start: start, count: Int(count))))
        let pem = chain.map { $0.pem() }.joined()
        let weak = try MockCertificate(chainPEM: pem, privateKeyPEM: identity.privateKeyPEM)
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: weak)
        let error = #expect(throws: MockError(.cannotStart, "")) {
            try LoopbackServer.start(configuration: configuration)
        }
        let cause = error?.cause as? CryptoError
        #expect(cause?.code == .invalidArgument)
        #expect(cause?.message.contains(text) == true)
    }

    @Test("Starting a server fails with a certificate that it can't use")
    func badServer() throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try MockCertificateAuthority().issueServerCertificate())
        configuration.tls?.minimumVersion = .tls13
        configuration.tls?.maximumVersion = .tls12
        #expect(throws: MockError(.cannotStart, "")) { try LoopbackServer.start(configuration: configuration) }
    }
}
