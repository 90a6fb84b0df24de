import Foundation
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

/// A root, an intermediate and a server certificate for this machine's names, created for one test.
struct TLSFixture {
    let root: MockCertificateAuthority
    let intermediate: MockCertificateAuthority
    let certificate: MockCertificate

    /// Names that always resolve to this machine
    /// ([RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)).
    static let hosts = ["127.0.0.1", "localhost", "api.localhost", "*.tenant.localhost"]

    init(hosts: [String] = hosts, notBefore: Date? = nil, notAfter: Date? = nil) throws {
        root = try MockCertificateAuthority(name: "Test Root")
        intermediate = try root.makeIntermediate(name: "Test Intermediate", keyType: .p384)
        certificate = try intermediate.issueServerCertificate(hosts: hosts, notBefore: notBefore, notAfter: notAfter)
    }

    var roots: TrustRoots {
        get throws { try .pem(root.certificatePEM) }
    }

    /// Runs a test with a server that responds to everything with 200.
    func withServer<Result>(
        showing certificate: MockCertificate? = nil,
        _ configure: (inout LoopbackServer.TLS) throws -> Void = { _ in },
        _ test: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        var configuration = LoopbackServer.Configuration()
        var tls = LoopbackServer.TLS(certificate: certificate ?? self.certificate)
        try configure(&tls)
        configuration.tls = tls
        return try await withLoopbackServer(configuration: configuration) { server in
            server.fallback { _ in .text("hello") }
            return try await test(server)
        }
    }
}

func withTLS<Result>(_ tls: TLSConfiguration, _ test: (CurlTransport) async throws -> Result) async throws -> Result {
    try await withCurl(CurlTransport.Configuration(proxy: .none, tls: tls), test)
}

/// Returns the error of a request, or `nil` for a response with the status 200.
func refusal(
    by server: LoopbackServer,
    host: String = "localhost",
    _ tls: TLSConfiguration
) async throws -> NetworkError? {
    try await withTLS(tls) { transport in
        await failure {
            let response = try await transport.get(server.url(for: "/", host: host))
            #expect(response.status == 200)
        }
    }
}

/// Checks that a request fails with this reason, or succeeds for `nil`, and on request that the
/// server hasn't received a byte on any connection.
func expectRefusal(
    _ expected: TLSFailure?,
    by server: LoopbackServer,
    host: String = "localhost",
    _ tls: TLSConfiguration,
    sendsNothing: Bool = false,
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column
) async throws {
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    let error = try await refusal(by: server, host: host, tls)
    #expect(error?.tlsFailure == expected, "\(host): \(error?.description ?? "")", sourceLocation: location)
    #expect(error?.code == (expected == nil ? nil : .tls), sourceLocation: location)
    if sendsNothing { #expect(try await server.receivedOctets() == 0, sourceLocation: location) }
}

extension LoopbackServer {
    /// Waits for the end of all connections, and returns the total number of request bytes
    /// received.
    func receivedOctets() async throws -> Int {
        try await waitForOpenConnections(atMost: 0)
        return connections.map(\.receivedOctetCount).reduce(0, +)
    }
}

extension PublicKeyPin {
    static let nobodys = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
}

/// Returns the error that an operation throws, if it has a certain type.
func thrown<Failure: Error>(_ type: Failure.Type, _ operation: () throws -> Void) -> Failure? {
    do {
        try operation()
        return nil
    } catch {
        return error as? Failure
    }
}

/// A server process with a certificate and its own port, which sends the typed text and prints
/// events.
final class ChildServer: Sendable {
    struct Silent: Error { let output: String }

    private let listening = Atomic(0)
    private let program: ChildProgram
    private let folder: URL

    /// Starts a program, which runs until ``stop()``.
    ///
    /// - Parameters:
    ///   - program: The program's name.
    ///   - arguments: The arguments. `chain.pem` and `key.pem` become the paths of the certificate
    ///     and its key.
    ///   - fixture: The fixture with the certificate.
    ///   - isReady: Finds the port in the program's output.
    static func start(
        _ program: String,
        _ arguments: [String],
        _ fixture: TLSFixture,
        isReady: @Sendable (String) -> Int?
    ) async throws -> ChildServer {
        let server = try ChildServer(program, arguments, fixture)
        try await server.wait { output in
            guard let port = isReady(output) else { return false }
            server.listening.store(port, ordering: .relaxed)
            return true
        }
        return server
    }

    private init(_ program: String, _ arguments: [String], _ fixture: TLSFixture) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = ["chain.pem": fixture.certificate.chainPEM, "key.pem": fixture.certificate.privateKeyPEM]
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let place = folder
        self.program = try ChildProgram(
            path: ChildProgram.path(of: program) ?? "/nowhere",
            arguments.map { files[$0] == nil ? $0 : place.appending(path: $0).path },
            input: .typed,
            output: .file(place.appending(path: "shown").path)
        )
    }

    /// The port, which the program prints when it listens.
    var port: Int { listening.load(ordering: .relaxed) }

    var output: String {
        let shown = try? Data(contentsOf: folder.appending(path: "shown"))
        return String(decoding: shown ?? Data(), as: UTF8.self)
    }

    func type(_ text: String) {
        program.type(text)
    }

    func waitForOutput(_ text: String) async throws {
        try await wait { $0.contains(text) }
    }

    private func wait(until condition: (String) -> Bool) async throws {
        guard try await eventually({ condition(output) }) else { throw Silent(output: output) }
    }

    func stop() {
        program.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}
