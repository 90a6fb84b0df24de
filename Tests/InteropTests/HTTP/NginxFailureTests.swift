import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("NetworkClient and nginx that fails", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(5)))
struct NginxFailureTests {
    @Test("A connection closed without an answer is a lost connection", arguments: Engine.allCases)
    func closed(engine: Engine) async {
        await #expect(throws: NetworkError(.connectionLost, "")) {
            try await engine.client().makeRequest(Nginx.request("/close"))
        }
    }

    @Test("An answer that does not end in time is a timeout", arguments: Engine.allCases)
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

    @Test("The client's own limit of time ends an operation, too", arguments: Engine.allCases)
    func operationTimeout(engine: Engine) async throws {
        let client = engine.client(options: NetworkClient.Options(timeout: .milliseconds(300)))
        await #expect(throws: NetworkError(.timedOut, "")) {
            try await client.makeRequest(Nginx.request("/slow"))
        }
    }

    @Test("Cancelling the task ends the request while its answer trickles in", arguments: Engine.allCases)
    func cancellation(engine: Engine) async throws {
        let client = engine.client()
        let request = try Nginx.request("/slow")
        let task = Task { try await client.makeRequest(request) }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: NetworkError(.cancelled, "")) { try await task.value }
        #expect(try await client.makeRequest(Nginx.request("/ok")) == Data("exact body\n".utf8))
    }

    @Test("A port where nobody listens can't be connected", arguments: Engine.allCases)
    func refused(engine: Engine) async throws {
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
        await #expect(throws: NetworkError(.cannotConnect, "")) {
            try await engine.client().makeRequest(request)
        }
    }

    @Test("A certificate of an unknown authority is refused", arguments: Engine.allCases)
    func unknownAuthority(engine: Engine) async throws {
        let url = try Nginx.secureURL("/ok")
        await #expect(throws: NetworkError(.tls, "")) {
            try await engine.client().makeRequest(URLRequest(url: url))
        }
        // The authority is all that is wrong: whoever knows it is content.
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

    @Test("TLS 1.1 is refused", arguments: Engine.allCases)
    func outdatedProtocol(engine: Engine) async throws {
        let url = try #require(URL(string: Interop.required("INTEROP_OUTDATED") + "/ok"))
        let error = await #expect(throws: NetworkError(.tls, "")) {
            try await engine.client().makeRequest(URLRequest(url: url))
        }
        // Not for the certificate, which is of an unknown authority as well. URLSession leaves the version to OpenSSL, which
        // at its usual level refuses TLS 1.1 only after that.
        if engine == .curl { #expect(error?.tlsFailure == .protocolVersion) }
        // A client that is told to accept the old protocol gets its answer.
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

    @Test("Plain HTTP to a TLS port is an answer, TLS to a plain port is a TLS error", arguments: Engine.allCases)
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
