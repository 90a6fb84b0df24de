import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

/// The nginx server that `Tests/Interop/run` started with `Tests/Interop/nginx.conf`.
enum Nginx {
    static func request(_ path: String, method: String = "GET", body: Data? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: Interop.required("INTEROP_HTTP") + path)))
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    static func secureURL(_ path: String) throws -> URL {
        try #require(URL(string: Interop.required("INTEROP_HTTPS") + path))
    }

    /// The 10 MiB body of nginx's `/large`.
    static func large() throws -> Data {
        try Data(contentsOf: URL(filePath: Interop.required("INTEROP_LARGE_FILE")))
    }
}

/// A transport to test.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case curl
    case urlSession

    var testDescription: String { rawValue }

    func client(options: NetworkClient.Options = NetworkClient.Options()) -> NetworkClient {
        switch self {
        case .curl: NetworkClient(options: options)
        case .urlSession: NetworkClient(configuration: .ephemeral, options: options)
        }
    }
}

@Suite("NetworkClient and nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxTests {
    @Test("The default client uses libcurl")
    func defaultTransport() {
        #expect(NetworkClient().transport is CurlTransport)
    }

    @Test("Returns the exact body of a 200", arguments: Engine.allCases)
    func exactBody(engine: Engine) async throws {
        let body = try await engine.client().makeRequest(Nginx.request("/ok"))
        #expect(body == Data("exact body\n".utf8))
    }

    @Test("Returns empty data for a 204", arguments: Engine.allCases)
    func noContent(engine: Engine) async throws {
        let response = try await engine.client().response(for: Nginx.request("/no-content"))
        #expect(response.status == 204)
        #expect(response.body.isEmpty)
    }

    @Test(
        "Throws server errors with the body for 404 and 500",
        arguments: Engine.allCases,
        [("/missing", 404, "nothing here\n"), ("/broken", 500, "it broke\n")]
    )
    func failures(engine: Engine, expected: (path: String, status: Int, body: String)) async throws {
        let error = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(Nginx.request(expected.path))
        }
        #expect(error.errorCode == expected.status)
        #expect(error.body == Data(expected.body.utf8))
        #expect(error.endpoint == String(expected.path.dropFirst()))
    }

    @Test("Returns a 401 with a Basic challenge without retrying", arguments: Engine.allCases)
    func challenge(engine: Engine) async throws {
        let error = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(Nginx.request("/basic"))
        }
        #expect(error.errorCode == 401)
        #expect(error.headers["WWW-Authenticate"] == #"Basic realm="closed""#)
    }

    @Test("Follows a redirect, or returns it if configured", arguments: Engine.allCases)
    func redirect(engine: Engine) async throws {
        let response = try await engine.client().response(for: Nginx.request("/moved"))
        #expect(response.url.path == "/ok")
        #expect(response.redirects.map(\.status) == [302])
        let error = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(
                Nginx.request("/moved"),
                options: RequestOptions(redirects: .never)
            )
        }
        #expect(error.errorCode == 302)
        #expect(error.headers["Location"]?.hasSuffix("/ok") == true)
    }

    @Test("Requests and decodes a compressed body", arguments: Engine.allCases)
    func gzip(engine: Engine) async throws {
        let response = try await engine.client().response(for: Nginx.request("/text"))
        #expect(response.headers["X-Asked"]?.contains("gzip") == true)
        let line = "The same line, many times over.\n"
        #expect(response.body == Data(String(repeating: line, count: 2000).utf8))
    }

    @Test("HEAD returns the length and no body", arguments: Engine.allCases)
    func head(engine: Engine) async throws {
        let response = try await engine.client().response(for: Nginx.request("/large", method: "HEAD"))
        #expect(response.status == 200)
        #expect(response.headers["Content-Length"] == "\(10 << 20)")
        #expect(response.body.isEmpty)
    }

    @Test("Receives 10 MiB unchanged", arguments: Engine.allCases)
    func largeBody(engine: Engine) async throws {
        let body = try await engine.client().makeRequest(Nginx.request("/large"))
        #expect(try body == Nginx.large())
    }

    @Test("Rejects a body that exceeds the limit", arguments: Engine.allCases)
    func bodyTooLarge(engine: Engine) async throws {
        let client = engine.client(options: NetworkClient.Options(maximumBodySize: 1 << 20))
        await #expect(throws: NetworkError(.bodyTooLarge, "")) {
            try await client.makeRequest(Nginx.request("/large"))
        }
    }

    @Test("The server receives as many bytes as were posted", arguments: Engine.allCases, [0, 1, 65_537, 10 << 20])
    func postedSize(engine: Engine, size: Int) async throws {
        let request = try Nginx.request("/size", method: "POST", body: Nginx.large().prefix(size))
        let answer = try await engine.client().makeRequest(request)
        #expect(String(decoding: answer, as: UTF8.self) == "POST \(size)")
    }

    @Test("Gets and deletes a resource created with PUT", arguments: Engine.allCases)
    func store(engine: Engine) async throws {
        let path = "/store/\(UUID().uuidString)"
        let client = engine.client()
        let body = try Nginx.large().prefix(3 << 20)
        let created = try await client.response(for: Nginx.request(path, method: "PUT", body: body))
        #expect(created.status == 201)
        #expect(try await client.makeRequest(Nginx.request(path)) == body)
        let deleted = try await client.response(for: Nginx.request(path, method: "DELETE"))
        #expect(deleted.status == 204)
        let error = try await #require(throws: ServerError.self) {
            try await client.makeRequest(Nginx.request(path))
        }
        #expect(error.errorCode == 404)
    }

    @Test("Sends the method, host, user agent and header fields", arguments: Engine.allCases)
    func sentFields(engine: Engine) async throws {
        var request = try Nginx.request("/fields", method: "DELETE")
        request.setValue("a value", forHTTPHeaderField: "X-Sent")
        let answer = String(decoding: try await engine.client().makeRequest(request), as: UTF8.self)
        let port = try #require(request.url?.port)
        #expect(answer == "DELETE|\(UserAgent())|a value|127.0.0.1:\(port)")
    }

    @Test("Keeps repeated response fields separate")
    func repeatedFields() async throws {
        let response = try await Engine.curl.client().response(for: Nginx.request("/fields"))
        #expect(response.headers.values(for: "x-twice") == ["one", "two"])
    }

    @Test("Sequential requests share a connection", arguments: Engine.allCases)
    func keepAlive(engine: Engine) async throws {
        let client = engine.client()
        var answers: [[Substring]] = []
        for _ in 0..<3 {
            let answer = String(decoding: try await client.makeRequest(Nginx.request("/connection")), as: UTF8.self)
            answers.append(answer.split(separator: " "))
        }
        #expect(Set(answers.map(\.first)).count == 1)
        #expect(answers.map(\.last) == ["1", "2", "3"])
    }

    @Test("100 concurrent requests each get their own response", arguments: Engine.allCases)
    func concurrency(engine: Engine) async throws {
        let client = engine.client()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    var request = try Nginx.request("/fields")
                    request.setValue("number \(number)", forHTTPHeaderField: "X-Sent")
                    let answer = String(decoding: try await client.makeRequest(request), as: UTF8.self)
                    return answer.split(separator: "|").contains("number \(number)")
                }
            }
            for try await isOwn in group { #expect(isOwn) }
        }
    }
}

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
        await #expect(throws: CancellationError.self) { try await task.value }
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

    @Test("Rejects TLS 1.1", .shows("3.4"), arguments: Engine.allCases)
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
