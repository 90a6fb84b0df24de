import COpenSSL
import OpenSSLCrypto
import TestSupport
import Testing

@Suite("TLSHandshake", .computing)
struct TLSHandshakeTests {
    private func handshake() throws -> TLSHandshake {
        let store = try TrustStore(roots: [])
        return TLSHandshake(policy: TLSClientPolicy(trust: { store }), host: "example.org")
    }

    /// Creates a context, which the caller must free.
    private func makeContext(_ method: OpaquePointer?) throws -> OpaquePointer {
        guard let context = unsafe SSL_CTX_new(method) else { throw CryptoError(.openSSL, "no context") }
        return unsafe context
    }

    @Test("OpenSSL releases the handshake together with the context")
    func ownership() throws {
        let context = try unsafe makeContext(TLS_client_method())
        var handshake: TLSHandshake? = try handshake()
        weak let observed = handshake
        try unsafe handshake?.apply(to: UnsafeMutableRawPointer(context))
        handshake = nil
        #expect(observed != nil)
        // A connection holds a reference to its context.
        let connection = unsafe SSL_new(context)
        unsafe SSL_CTX_free(context)
        #expect(observed != nil)
        unsafe SSL_free(connection)
        #expect(observed == nil)
    }

    @Test("Applies the policy's versions to the context")
    func versions() throws {
        for (minimum, maximum, expected) in [
            (TLSProtocolVersion.tls12, nil, (TLS1_2_VERSION, 0)), (.tls13, nil, (TLS1_3_VERSION, 0)),
            (.tls12, .tls12, (TLS1_2_VERSION, TLS1_2_VERSION)),
        ] as [(TLSProtocolVersion, TLSProtocolVersion?, (Int32, Int32))] {
            let context = try unsafe makeContext(TLS_client_method())
            defer { unsafe SSL_CTX_free(context) }
            let store = try TrustStore(roots: [])
            let policy = TLSClientPolicy(trust: { store }, minimumVersion: minimum, maximumVersion: maximum)
            try unsafe TLSHandshake(policy: policy, host: "example.org").apply(to: UnsafeMutableRawPointer(context))
            #expect(unsafe SSL_CTX_ctrl(context, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nil) == Int(expected.0))
            #expect(unsafe SSL_CTX_ctrl(context, SSL_CTRL_GET_MAX_PROTO_VERSION, 0, nil) == Int(expected.1))
            #expect(unsafe SSL_CTX_get_verify_mode(context) == SSL_VERIFY_PEER)
        }
    }

    @Test("Rejects a context with the function tables of another library copy", .shows("N19"))
    func foreignContext() throws {
        let context = try unsafe makeContext(DTLS_client_method())
        defer { unsafe SSL_CTX_free(context) }
        let handshake = try handshake()
        #expect(code { _ = try unsafe handshake.apply(to: UnsafeMutableRawPointer(context)) } == .openSSL)
    }

    @Test("Fails if the trusted certificates aren't available")
    func noTrust() throws {
        let context = try unsafe makeContext(TLS_client_method())
        defer { unsafe SSL_CTX_free(context) }
        let policy = TLSClientPolicy(trust: { () throws(CryptoError) in throw CryptoError(.openSSL, "none") })
        #expect(throws: CryptoError(.openSSL, "")) {
            try unsafe TLSHandshake(policy: policy, host: "example.org").apply(to: UnsafeMutableRawPointer(context))
        }
    }

    @Test("Allows resumption only without decisions per connection")
    func resumption() throws {
        let store = try TrustStore(roots: [])
        #expect(TLSClientPolicy(trust: { store }).allowsResumption)
        #expect(!TLSClientPolicy(trust: { store }, identity: { nil }).allowsResumption)
        #expect(!TLSClientPolicy(trust: { store }, evaluate: { _ in }).allowsResumption)
    }

    @Test("Detects a shared OpenSSL by its version and a function's address", .shows("N19"))
    func sharedLibrary() throws {
        let version = try #require(OpenSSLLibrary.version.split(separator: " ").dropFirst().first)
        func isShared(_ backend: String, offset: Int? = 0) -> Bool {
            let address = unsafe offset.flatMap { offset in
                unsafe COpenSSL_telling_function().map { unsafe $0 + offset }
            }
            return unsafe OpenSSLLibrary.isShared(backend: backend, functionAddress: address)
        }
        #expect(isShared("OpenSSL/\(version)"))
        #expect(isShared("OpenSSL/\(version)", offset: nil))
        #expect(!isShared("OpenSSL/\(version)", offset: 1))
        for backend in ["", "GnuTLS/3.7.9", "OpenSSL/1.1.1w", "LibreSSL/3.8", "OpenSSL/\(version) (GnuTLS/3.7.9)"] {
            #expect(!isShared(backend))
        }
    }
}

@Suite("IPAddress", .computing)
struct IPAddressTests {
    @Test("Parses all notations of addresses")
    func valid() {
        #expect(IPAddress("127.0.0.1")?.octets == [127, 0, 0, 1])
        #expect(IPAddress("::1") == IPAddress("0:0:0:0:0:0:0:1"))
        #expect(IPAddress("2001:DB8::1") == IPAddress("2001:db8:0::0:1"))
        #expect(IPAddress("::ffff:127.0.0.1") != IPAddress("127.0.0.1"))
    }

    @Test("Parses all notations of IPv4 addresses that resolvers accept")
    func resolved() {
        for text in ["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7F000001"] {
            #expect(IPAddress(resolving: text) == IPAddress("127.0.0.1"), "\(text)")
        }
        for text in [
            "", "localhost", "1.2.3.4.5", "08.1", "127.1 x", " 127.1", "256.1.1.1", "1.2.3.256", "1e3", "::1",
            "4294967296",
        ] {
            #expect(IPAddress(resolving: text) == nil, "\(text)")
        }
    }

    @Test(
        "Rejects text that isn't an address",
        arguments: [
            "", "localhost", "[::1]", "127.1", "1.2.3.4.5", "0x7f.0.0.1", "fe80::1%eth0", "256.1.1.1", "127.0.0.1 ",
        ]
    )
    func invalid(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
