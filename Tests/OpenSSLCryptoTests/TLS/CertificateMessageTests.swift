import COpenSSL
import OpenSSLCrypto
import Synchronization
import TestSupport
import TestVectors
import Testing

/// Handshakes in memory between OpenSSL's server and a client with a policy.
@Suite("Certificates in a TLS handshake", .computing)
struct CertificateMessageTests {
    /// A server's certificate under a root.
    private struct Server {
        let root: Certificate
        let certificate: Certificate

        init(_ certificate: String = TestServer.certificate) throws {
            root = try Certificate(pem: TestServer.root)
            self.certificate = try Certificate(pem: certificate)
        }

        /// Connects a client that trusts the root, and returns its handshake's problem.
        func problem(
            sending others: [[UInt8]] = [],
            version: Int32,
            onRecord: @escaping @Sendable () -> Void = {}
        ) throws -> TLSProblem? {
            let serverContext = try unsafe #require(SSL_CTX_new(TLS_server_method()))
            defer { unsafe SSL_CTX_free(serverContext) }
            let clientContext = try unsafe #require(SSL_CTX_new(TLS_client_method()))
            defer { unsafe SSL_CTX_free(clientContext) }
            unsafe SSL_CTX_ctrl(serverContext, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
            unsafe SSL_CTX_ctrl(clientContext, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
            try unsafe prepare(serverContext, others)
            let store = try TrustStore(roots: [root])
            let handshake = TLSHandshake(
                policy: TLSClientPolicy(trust: { store }),
                host: TestServer.host,
                onRecord: onRecord
            )
            try unsafe handshake.apply(to: UnsafeMutableRawPointer(clientContext))
            try unsafe CertificateMessageTests.connect(clientContext, serverContext)
            return handshake.problem
        }

        private func prepare(_ context: OpaquePointer, _ others: [[UInt8]]) throws {
            func decode(_ der: [UInt8]) throws -> OpaquePointer {
                try unsafe #require(
                    der.withUnsafeBufferPointer { octets in
                        var next = octets.baseAddress
                        return unsafe d2i_X509(nil, &next, octets.count)
                    }
                )
            }
            let own = try unsafe decode(certificate.der)
            defer { unsafe X509_free(own) }
            #expect(unsafe SSL_CTX_use_certificate(context, own) == 1)
            let privateKey = try unsafe #require(
                TestServer.key.withCString { text in
                    let input = unsafe BIO_new_mem_buf(text, -1)
                    defer { unsafe BIO_free(input) }
                    return unsafe PEM_read_bio_PrivateKey(input, nil, nil, nil)
                }
            )
            defer { unsafe EVP_PKEY_free(privateKey) }
            #expect(unsafe SSL_CTX_use_PrivateKey(context, privateKey) == 1)
            unsafe SSL_CTX_set_security_level(context, 0)
            for other in others {
                let certificate = try unsafe decode(other)
                defer { unsafe X509_free(certificate) }
                #expect(unsafe SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate)) == 1)
            }
        }
    }

    /// Runs a handshake until neither side proceeds.
    private static func connect(_ clientContext: OpaquePointer, _ serverContext: OpaquePointer) throws {
        let client = try unsafe #require(SSL_new(clientContext))
        defer { unsafe SSL_free(client) }
        let server = try unsafe #require(SSL_new(serverContext))
        defer { unsafe SSL_free(server) }
        var (clientSide, serverSide): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        #expect(unsafe BIO_new_bio_pair(&clientSide, 1 << 17, &serverSide, 1 << 17) == 1)
        unsafe SSL_set_bio(client, clientSide, clientSide)
        unsafe SSL_set_bio(server, serverSide, serverSide)
        unsafe SSL_set_connect_state(client)
        unsafe SSL_set_accept_state(server)
        var name = Array(TestServer.host.utf8CString)
        unsafe SSL_ctrl(client, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
        for _ in 0..<10 {
            _ = unsafe SSL_do_handshake(client)
            _ = unsafe SSL_do_handshake(server)
        }
        ERR_clear_error()
    }

    private static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    @Test("Accepts a chain that the client can check at little cost", arguments: versions)
    func accepted(version: Int32) throws {
        let server = try Server()
        let others = Array(repeating: server.root.der, count: 15)
        #expect(try server.problem(version: version) == nil)
        #expect(try server.problem(sending: others, version: version) == nil)
    }

    @Test("Reports the records that the client receives", arguments: versions)
    func records(version: Int32) throws {
        let count = Mutex(0)
        #expect(try Server().problem(version: version) { count.withLock { $0 += 1 } } == nil)
        // A ServerHello, a Certificate and a Finished need at least three.
        #expect(count.withLock { $0 } >= 3)
    }

    @Test("Refuses a chain with an expensive key before OpenSSL decodes it", arguments: versions)
    func explicitCurve(version: Int32) throws {
        let server = try Server()
        let problem = try server.problem(
            sending: [server.root.der, HostileCertificate.explicitCurve],
            version: version
        )
        guard case .untrusted(let reason)? = problem else {
            Issue.record("\(String(describing: problem))")
            return
        }
        #expect(reason.hasPrefix("The key has explicit curve parameters"))
    }

    @Test("Refuses a chain of more than 16 certificates", arguments: versions)
    func count(version: Int32) throws {
        let server = try Server()
        let problem = try server.problem(
            sending: Array(repeating: server.root.der, count: 16),
            version: version
        )
        guard case .untrusted("The peer sent more than 16 certificates")? = problem else {
            Issue.record("\(String(describing: problem))")
            return
        }
    }

    /// [RFC 9110 §4.3.4](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.4).
    @Test("Refuses a certificate without alternative names, even if its common name is the host's", arguments: versions)
    func commonName(version: Int32) throws {
        let problem = try Server(TestServer.namelessCertificate).problem(version: version)
        guard case .wrongHost? = problem else {
            Issue.record("\(String(describing: problem))")
            return
        }
    }
}
