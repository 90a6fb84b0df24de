import Foundation
import MockNetworking
import TestSupport
import Testing

@Suite("jwt pin", .limitedConcurrency)
struct PinCommandTests {
    private let root: MockCertificateAuthority
    private let intermediate: MockCertificateAuthority
    private let certificate: MockCertificate

    init() throws {
        root = try MockCertificateAuthority(name: "Root")
        intermediate = try root.makeIntermediate(name: "Intermediate")
        certificate = try intermediate.issueServerCertificate(hosts: ["localhost"])
    }

    private var chain: String {
        """
        \(certificate.publicKeyPin)  # leaf CN=localhost
        \(intermediate.publicKeyPin)  # intermediate CN=Intermediate
        \(root.publicKeyPin)  # root CN=Root

        """
    }

    private func withServer(_ test: (LoopbackServer, String, TemporaryFolder) async throws -> Void) async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: certificate)
        let folder = try TemporaryFolder()
        try folder.write(root.certificatePEM, to: "root.pem")
        try await withLoopbackServer(configuration: configuration) { server in
            try await test(server, "https://localhost:\(server.port)", folder)
        }
    }

    @Test("Prints the pins of a server's verified chain without sending a request", .shows("1.33"))
    func server() async throws {
        try await withServer { server, url, folder in
            let result = try BuiltProgram.jwt.run("pin", url, "--roots", folder.path + "/root.pem")
            #expect(result == .success(chain))
            let withPath = try BuiltProgram.jwt.run("pin", "--roots", folder.path + "/root.pem", url + "/a?b")
            #expect(withPath == result)
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.receivedOctetCount) == [0, 0])
        }
    }

    @Test("Accepts every spelling of an IP address without sending a request")
    func spelledAddress() async throws {
        let certificate = try root.issueServerCertificate(hosts: ["127.0.0.1"])
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: certificate)
        let folder = try TemporaryFolder()
        try folder.write(root.certificatePEM, to: "root.pem")
        try await withLoopbackServer(configuration: configuration) { server in
            for host in ["127.0.0.1", "127.1", "2130706433"] {
                let url = "HTTPS://\(host):\(server.port)"
                let result = try BuiltProgram.jwt.run("pin", url, "--roots", folder.path + "/root.pem")
                #expect(result.output.hasPrefix("\(certificate.publicKeyPin)  # leaf CN=127.0.0.1\n"), "\(result)")
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.receivedOctetCount) == [0, 0, 0])
        }
    }

    @Test("Prints JSON with --json")
    func json() async throws {
        try await withServer { _, url, folder in
            let result = try BuiltProgram.jwt.run("pin", "--json", url, "--roots", folder.path + "/root.pem")
            #expect(result.status == 0)
            let object =
                try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: [[String: String]]]
            let expected = [
                ["pin": certificate.publicKeyPin, "role": "leaf", "subject": "CN=localhost"],
                ["pin": intermediate.publicKeyPin, "role": "intermediate", "subject": "CN=Intermediate"],
                ["pin": root.publicKeyPin, "role": "root", "subject": "CN=Root"],
            ]
            #expect(object == ["certificates": expected])
        }
    }

    @Test("Rejects an untrusted server and a server with another name")
    func rejected() async throws {
        try await withServer { server, url, folder in
            let untrusted = try BuiltProgram.jwt.run("pin", url)
            #expect(
                untrusted.fails(1, "jwt pin: the TLS connection to localhost:\(server.port) failed: "),
                "\(untrusted)"
            )
            #expect(untrusted.errors.hasSuffix("; pass its root certificate with --roots FILE\n"))
            let address = "https://127.0.0.1:\(server.port)"
            let otherHost = try BuiltProgram.jwt.run("pin", address, "--roots", folder.path + "/root.pem")
            #expect(otherHost.fails(1, containing: "the server's certificate is for another host"), "\(otherHost)")
            #expect(server.requestCount == 0)
        }
    }

    @Test("Prints the pins of certificates in PEM, in DER and from standard input")
    func files() throws {
        let folder = try TemporaryFolder()
        try folder.write(certificate.chainPEM, to: "chain.pem")
        try certificate.certificateDER.write(to: URL(filePath: folder.path + "/leaf.der"))
        let leaf = "\(certificate.publicKeyPin)  # CN=localhost\n"
        let both = leaf + "\(intermediate.publicKeyPin)  # CN=Intermediate\n"
        #expect(try BuiltProgram.jwt.run("pin", folder.path + "/chain.pem") == .success(both))
        #expect(try BuiltProgram.jwt.run("pin", folder.path + "/leaf.der") == .success(leaf))
        #expect(try BuiltProgram.jwt.run("pin", "-", input: certificate.certificatePEM) == .success(leaf))
    }

    @Test("Escapes control characters in a name")
    func hiddenCharacters() throws {
        let odd = try MockCertificateAuthority(name: "a\u{1B}[31m\nb").certificatePEM
        let result = try BuiltProgram.jwt.run("pin", "-", input: odd)
        #expect(result.status == 0)
        #expect(result.output.filter { $0 == "\n" }.count == 1)
        #expect(!result.output.unicodeScalars.contains("\u{1B}"))
    }

    @Test("Rejects other content without repeating it")
    func noCertificate() throws {
        for text in ["", "secret", certificate.privateKeyPEM] {
            let result = try BuiltProgram.jwt.run("pin", "-", input: text)
            #expect(result.fails(1, "jwt pin: standard input: "), "\(result)")
            #expect(!result.errors.contains("secret"))
        }
        let key = try #require(certificate.privateKeyPEM.split(separator: "\n").dropFirst().first)
        #expect(try !BuiltProgram.jwt.run("pin", "-", input: certificate.privateKeyPEM).errors.contains(key))
    }

    @Test("Exits with 2 for a missing file and an unreachable server")
    func failed() throws {
        let missing = try BuiltProgram.jwt.run("pin", "/nonexistent.pem")
        #expect(missing == .failure(2, "jwt pin: /nonexistent.pem: can't be read: No such file or directory\n"))
        let host = try BuiltProgram.jwt.run("pin", "api.example.org")
        #expect(
            host.errors
                == "jwt pin: api.example.org: can't be read: No such file or directory; to print the pins of a server, run "
                + "jwt pin https://HOST\n"
        )
        #expect(host.status == 2)
        // Another test may reuse a free port, but no process listens on port 1.
        let closed = try BuiltProgram.jwt.run("pin", "https://localhost:1")
        #expect(closed.fails(2, "jwt pin: can't connect to localhost:1"), "\(closed)")
        #expect(try BuiltProgram.jwt.run("pin", "https://localhost:1", "--roots", "/nonexistent").status == 2)
    }

    @Test(
        "Exits with 64 for an invalid command line",
        arguments: [
            ["pin"], ["pin", "http://localhost"], ["pin", "ftp://localhost"], ["pin", "a.pem", "--roots", "b.pem"],
            ["pin", "a.pem", "b.pem"], ["pin", ""], ["pin", "https://"], ["pin", "https://user@localhost"],
        ]
    )
    func usage(arguments: [String]) throws {
        let result = try BuiltProgram.jwt.run(arguments)
        #expect(result.fails(64, "jwt pin: "), "\(result)")
    }
}
