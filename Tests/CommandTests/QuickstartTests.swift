import TestSupport
import Testing

@Suite("quickstart", .limitedConcurrency)
struct QuickstartTests {
    @Test("Runs all steps and needs one refresh for 50 calls")
    func steps() throws {
        let result = try BuiltProgram.quickstart.run()
        #expect(result.errors.isEmpty)
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        let beginnings = [
            "1. generated a P-256 key: {", "2. started an authorization server at http://127.0.0.1:",
            "3. signed a client assertion (RFC 7523): {", "4. got an access token: {",
            #"5. called the API, which responded with {"reports":3}"#, "6. the server revoked the token",
            "7. 50 concurrent calls got a 401; 1 refresh, and all 50 succeeded",
            "done: 101 API requests, 2 token requests, 1 refresh, ",
        ]
        #expect(lines.count == beginnings.count)
        for (line, beginning) in zip(lines, beginnings) {
            #expect(line.hasPrefix(beginning))
        }
    }

    @Test("Shows the contents of tokens, but no private key")
    func contents() throws {
        let output = try BuiltProgram.quickstart.run().output
        #expect(output.contains(#""iss":"quickstart""#))
        #expect(output.contains(#""client_id":"quickstart""#))
        #expect(output.contains(#""scope":"reports.read""#))
        #expect(!output.contains(#""d":"#))
    }

    @Test("Runs every example without errors")
    func examples() async throws {
        let names = try BuiltProgram.quickstart.run("--list").output.split(separator: "\n").map { line in
            String(line.prefix { $0 != ":" })
        }
        let expected = [
            "quickstart", "backend-service", "resource-server", "remote-signer", "token-exchange", "mutual-tls",
            "device-login",
        ]
        #expect(names == expected)
        for name in names {
            let result = try await BuiltProgram.quickstart.runApart([name])
            #expect(result.status == 0, "\(name): \(result.errors)")
            #expect(result.output.split(separator: "\n").count >= 3, "\(name): \(result.output)")
        }
    }

    @Test("Follows the server's polling interval in a device login, and refreshes tokens")
    func deviceLogin() throws {
        let result = try BuiltProgram.quickstart.run("device-login")
        #expect(result.status == 0, "\(result.errors)")
        let expected = [
            /1\. open http:\/\/127\.0\.0\.1:\d+\/device and enter [A-Z]{4}-[A-Z]{4}/,
            /[ ]{3}begun: polling again in 5\.0 seconds; 600\.0 seconds left/,
            /[ ]{3}slowedDown: polling again in 10\.0 seconds; 595\.0 seconds left/,
            /[ ]{3}pending: polling again in 10\.0 seconds; 585\.0 seconds left/,
            /2\. authorized after 3 polls/,
            /3\. called the API: Ada's reports/,
            /4\. called it again with a refreshed token after the first was revoked: Ada's reports/,
        ]
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == expected.count)
        for (line, regex) in zip(lines, expected) { #expect(line.wholeMatch(of: regex) != nil, "\(line)") }
    }

    @Test("The protected API logs why it refuses a request")
    func refusals() throws {
        let lines = try BuiltProgram.quickstart.run("resource-server").output.split(separator: "\n")
        let expected = [
            /1\. with a token: reports for reader/, /[ ]{3}refused: insufficientScope: .+/,
            /403: insufficient scope; Bearer .*scope="reports\.write".*/, /[ ]{3}refused: noToken: .+/,
            /401: no token; Bearer realm="reports", scope="reports\.read"/, /[ ]{3}refused: invalidToken: .+/,
            /401: a token signed with another key; Bearer .*error="invalid_token".*/,
        ]
        #expect(lines.count == expected.count)
        for (line, regex) in zip(lines, expected) { #expect(line.wholeMatch(of: regex) != nil, "\(line)") }
        #expect(!lines.contains { $0.contains("DPoP") })
    }

    @Test("Rejects an unknown example and lists the available ones")
    func unknown() throws {
        let result = try BuiltProgram.quickstart.run("fast-start")
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("“fast-start”") && result.errors.contains("remote-signer"))
    }
}
