import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("NetworkClient and failing nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxFailureTests {
    @Test("Reports a connection closed without a response as lost", arguments: Engine.allCases)
    func closed(engine: Engine) async {
        await #expect(throws: NetworkError(.connectionLost, "")) {
            try await engine.client().makeRequest(Nginx.request("/close"))
        }
    }

    @Test("Times out if the response doesn't end in time", arguments: Engine.allCases)
    func timeout(engine: Engine) async throws {
        var request = try Nginx.request("/slow")
        request.timeoutInterval = 0.3
        let clock = ContinuousClock()
        let began = clock.now
        await #expect(throws: NetworkError(.timedOut, "")) {
            try await engine.client().makeRequest(request)
        }
        #expect(began.duration(to: clock.now) < .seconds(60))
    }

    @Test("Applies the client's timeout", arguments: Engine.allCases)
    func operationTimeout(engine: Engine) async throws {
        let client = engine.client(options: NetworkClient.Options(timeout: .milliseconds(300)))
        await #expect(throws: NetworkError(.timedOut, "")) {
            try await client.makeRequest(Nginx.request("/slow"))
        }
    }

    @Test("Cancels a request while its response is slowly arriving", arguments: Engine.allCases)
    func cancellation(engine: Engine) async throws {
        let client = engine.client()
        let request = try Nginx.request("/slow")
        let task = Task { try await client.makeRequest(request) }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: NetworkError(.cancelled, "")) { try await task.value }
        #expect(try await client.makeRequest(Nginx.request("/ok")) == Data("exact body\n".utf8))
    }

    @Test("Throws cannotConnect for a port without a listener", arguments: Engine.allCases)
    func refused(engine: Engine) async throws {
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
        await #expect(throws: NetworkError(.cannotConnect, "")) {
            try await engine.client().makeRequest(request)
        }
    }

    @Test("Rejects a certificate of an unknown authority", arguments: Engine.allCases)
    func unknownAuthority(engine: Engine) async throws {
        let url = try Nginx.secureURL("/ok")
        await #expect(throws: NetworkError(.tls, "")) {
            try await engine.client().makeRequest(URLRequest(url: url))
        }
        // Only the authority is unknown: a client that trusts it accepts the certificate.
        let handshake = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "s_client", "-connect", "localhost:\(try #require(url.port))", "-verify_hostname", "localhost",
                "-CAfile", Interop.required("INTEROP_AUTHORITY"), "-verify_return_error",
            ]
        )
        #expect(handshake.status == 0, "\(handshake.errors)")
        #expect(handshake.output.contains("Verify return code: 0 (ok)"))
    }

    @Test("Rejects TLS 1.1", arguments: Engine.allCases)
    func outdatedProtocol(engine: Engine) async throws {
        let url = try #require(URL(string: Interop.required("INTEROP_OUTDATED") + "/ok"))
        let error = await #expect(throws: NetworkError(.tls, "")) {
            try await engine.client().makeRequest(URLRequest(url: url))
        }
        // The certificate's authority is unknown as well, but the version is the reason. URLSession
        // leaves the version to OpenSSL, which by default rejects TLS 1.1 only after the
        // certificate.
        if engine == .curl { #expect(error?.tlsFailure == .protocolVersion) }
        // A client that accepts the old protocol gets the response.
        let handshake = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "s_client", "-connect", "localhost:\(try #require(url.port))", "-tls1_1", "-cipher",
                "DEFAULT@SECLEVEL=0",
                "-CAfile", Interop.required("INTEROP_AUTHORITY"), "-verify_return_error",
            ]
        )
        #expect(handshake.status == 0, "\(handshake.errors)")
    }

    @Test("Plain HTTP to a TLS port gets a response, TLS to a plain port an error", arguments: Engine.allCases)
    func mixedUp(engine: Engine) async throws {
        let securePort = try #require(Nginx.secureURL("/ok").port)
        let plainPort = try #require(Nginx.request("/ok").url?.port)
        let plainToSecure = URLRequest(url: try #require(URL(string: "http://localhost:\(securePort)/ok")))
        let error = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(plainToSecure)
        }
        #expect(error.errorCode == 400)
        let secureToPlain = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(plainPort)/ok")))
        await #expect(throws: NetworkError(.tls, "")) {
            try await engine.client().makeRequest(secureToPlain)
        }
    }
}
