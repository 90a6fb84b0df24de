import Foundation
import Glibc
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import WorkloadIdentity

@Suite("FileTokenSource", .limitedConcurrency, .tags(.concurrency))
struct FileTokenSourceTests {
    private let folder: TokenFolder
    private let time = ManualTime(advancesWhenSleeping: true)
    private let token = SampleToken().text

    init() throws { folder = try TokenFolder() }

    private func source(type: TokenType = .jwt, audience: String? = "https://as.example") -> FileTokenSource {
        FileTokenSource(
            path: folder.path,
            type: type,
            audience: audience,
            environment: WorkloadEnvironment(timeSource: time.timeSource)
        )
    }

    @Test("Reads the file anew for each token, without the white space around it", .shows("O31"))
    func reads() async throws {
        try folder.write(" \t\r\n\(token)\u{B}\u{C}\n\n", mode: 0o644)
        let first = try await source().token()
        #expect(text(first) == token)
        #expect(first.type == "N_A")
        #expect(first.expiry == time.now + .seconds(600))
        #expect(first.requested == time.now)
        let other = SampleToken(["jti": "2"]).text
        try folder.write(other)
        #expect(text(try await source().token()) == other)
        #expect(time.sleeps.isEmpty)
    }

    @Test("A token of the type accessToken can be sent in requests, and needs no form")
    func opaque() async throws {
        try folder.write("opaque-token")
        let token = try await source(type: .accessToken, audience: nil).token()
        #expect(text(token) == "opaque-token")
        #expect(token.type == "Bearer")
        #expect(token.expiry == nil)
        #expect(text(try await source(type: .saml2, audience: nil).token()) == "opaque-token")
        #expect(await failure(of: source(type: .accessToken))?.code == .malformedToken)
        // An expiry is heeded even if the form doesn't matter.
        try folder.write(SampleToken(["exp": 999_999_999]).text)
        #expect(await failure(of: source(type: .accessToken, audience: nil))?.code == .expiredToken)
    }

    @Test("A missing file is read once more at once, and then names the path")
    func missing() async throws {
        let error = await failure(of: source())
        #expect(error?.code == .notConfigured)
        #expect(error?.step == .read)
        #expect(error?.isRetryable == false)
        #expect(error?.message.contains(folder.path) == true)
        #expect((error?.cause as? POSIXError)?.code == .ENOENT)
        #expect(time.sleeps.isEmpty)
        let below = FileTokenSource(path: folder.path + "/token")
        try folder.write(token)
        #expect(await failure(of: below)?.code == .notConfigured)
    }

    @Test("An empty or half-written file is read once more after 100 milliseconds", .shows("W4"))
    func halfWritten() async throws {
        for text in ["", "\n", String(token.prefix(20)), String(token.prefix(token.count / 2)), "{\"svid\":\"a\"}"] {
            try folder.write(text)
            let time = ManualTime()
            let source = FileTokenSource(
                path: folder.path,
                environment: WorkloadEnvironment(timeSource: time.timeSource)
            )
            async let read = source.token()
            try await time.waitForSleepers(count: 1)
            #expect(time.sleeps == [.milliseconds(100)])
            try folder.write(token)
            time.advance(by: .milliseconds(100))
            #expect(try await read.value.expose { $0 } == token)

            try folder.write(text)
            let count = self.time.sleeps.count
            let error = await failure(of: self.source())
            #expect(error?.code == .malformedToken, "\(text)")
            #expect(self.time.sleeps.count == count + 1)
            #expect(error?.message.contains(String(token.prefix(20))) == false)
        }
    }

    @Test("Cancellation ends the wait for a half-written file")
    func cancellation() async throws {
        try folder.write("")
        let time = ManualTime()
        let source = FileTokenSource(path: folder.path, environment: WorkloadEnvironment(timeSource: time.timeSource))
        let task = Task { try await source.token() }
        try await time.waitForSleepers(count: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Refuses a file of more than 64 KiB without reading all of it", .shows("W3"))
    func huge() async throws {
        try folder.write(String(repeating: "a", count: 64 << 10))
        #expect(text(try await source(type: .accessToken, audience: nil).token()).utf8.count == 64 << 10)
        try folder.write(String(repeating: "a", count: (64 << 10) + 1))
        #expect(await failure(of: source(type: .accessToken, audience: nil))?.code == .tooLarge)
        let isLarge = unsafe truncate(folder.path, 1 << 40) == 0
        #expect(isLarge)
        #expect(await failure(of: source())?.code == .tooLarge)
        #expect(time.sleeps.isEmpty)
    }

    @Test("A file that can be opened but not read is an error")
    func failingRead() async {
        // The kernel has no page at its start.
        let source = FileTokenSource(path: "/proc/self/mem", type: .accessToken)
        await expectFailure(of: source, .unreadableFile, naming: "“/proc/self/mem” can't be read (error 5)")
    }

    @Test(
        "Refuses a file that the group or others may write to",
        .shows("W2"),
        arguments: [0o620, 0o602, 0o666, 0o664, 0o646]
    )
    func writable(mode: Int) async throws {
        try folder.write(token, mode: mode)
        await expectFailure(of: source(), .insecureFile, naming: "chmod go-w")
        try folder.write(token, mode: 0o644)
        #expect(text(try await source().token()) == token)
    }

    @Test("Refuses a directory, and a pipe without blocking", .shows("W3"))
    func otherFiles() async throws {
        let isPipe = unsafe mkfifo(folder.path, 0o600) == 0
        #expect(isPipe)
        #expect(await failure(of: source())?.code == .unreadableFile)
        #expect(await failure(of: FileTokenSource(path: folder.url.path))?.code == .unreadableFile)
        let loop = folder.url.appending(path: "loop").path
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
        #expect(await failure(of: FileTokenSource(path: loop))?.code == .unreadableFile)
    }

    @Test("Says which user may not read the file", .enabled(if: geteuid() != 0, "root can read every file"))
    func unreadable() async throws {
        try folder.write(token, mode: 0o000)
        #expect(await failure(of: source())?.code == .unreadableFile)
    }

    @Test(
        "Refuses a token for another audience, and names both",
        .shows("W1"),
        arguments: [
            #""https://kubernetes.default.svc""#, #"["https://kubernetes.default.svc","b","c","d"]"#, "[]", "7", "[7]",
            #""https://as.example/""#, #"["HTTPS://AS.EXAMPLE"]"#,
        ]
    )
    func otherAudience(json: String) async throws {
        try folder.write(SampleToken(["aud": try value(json)]).text)
        let error = await failure(of: source())
        #expect(error?.code == .wrongAudience)
        #expect(error?.message.contains("“https://as.example”") == true)
        if json.contains("kubernetes") { #expect(error?.message.contains("“https://kubernetes.default.svc”") == true) }
        #expect(error?.description.contains("S3cr3t") == false)
        #expect(text(try await source(audience: nil).token()).isEmpty == false)
    }

    @Test("Refuses a token without an audience if one is configured; accepts one of several")
    func audiences() async throws {
        try folder.write(SampleToken(["aud": nil]).text)
        #expect(await failure(of: source())?.message.contains("no audience") == true)
        for json in [#""https://as.example""#, #"["a","https://as.example"]"#] {
            try folder.write(SampleToken(["aud": try value(json)]).text)
            #expect(try await source().token().type == "N_A")
        }
        try folder.write(SampleToken(["aud": .string(String(repeating: "\u{1B}[2J", count: 9_000))]).text)
        let message = try #require(await failure(of: source())?.message)
        #expect(!message.contains("\u{1B}") && message.utf8.count < 500)
    }

    @Test("Refuses an expired token, from the second of its expiry on", .shows("W5"))
    func expired() async throws {
        for expiry in [SampleToken.now, SampleToken.now - 1, -5] {
            try folder.write(SampleToken(["exp": .number(JSONNumber(expiry))]).text)
            #expect(await failure(of: source())?.code == .expiredToken)
        }
        try folder.write(SampleToken(["exp": .number(JSONNumber(SampleToken.now + 1))]).text)
        #expect(try await source().token().expiry == time.now + .seconds(1))
        for literal in ["1e300", "-1e300", "9e99999"] {
            try folder.write(SampleToken(["exp": .number(try #require(JSONNumber(literal: literal)))]).text)
            // An absurd expiry must not trap.
            _ = try? await source().token()
        }
        try folder.write(SampleToken(["exp": "soon"]).text)
        #expect(await failure(of: source())?.code == .malformedToken)
        try folder.write(SampleToken(["exp": nil]).text)
        #expect(try await source().token().expiry == nil)
    }

    @Test("Refuses the token that the caller rejects, until the file has another one")
    func rejected() async throws {
        try folder.write(token)
        #expect(source().canReplaceTokens)
        let first = try await source().token()
        #expect(await failure(of: source(), .replacing(first))?.code == .rejectedToken)
        let other = SampleToken(["jti": "2"]).text
        try folder.write(other)
        #expect(text(try await source().token(for: .replacing(first))) == other)
    }

    @Test("Accepts only one token of visible ASCII characters", arguments: ["a b", "a\nb", "é", "a\0b", "a\u{7F}"])
    func characters(content: String) async throws {
        try folder.write(content)
        #expect(await failure(of: source(type: .accessToken, audience: nil))?.code == .malformedToken)
    }

    private func value(_ json: String) throws -> JSONValue {
        try #require(try JSONObject(parsing: "{\"v\":\(json)}")["v"])
    }
}

/// The cost of a platform's file, in openings.
@Suite("File access", .limitedConcurrency, .tags(.concurrency))
struct FileAccessTests {
    /// Counts how often a file is opened.
    private final class Openings {
        private let descriptor: Int32

        init(of path: String) throws {
            descriptor = inotify_init1(Int32(IN_NONBLOCK))
            // Without the closings, the kernel would merge successive openings into one event.
            let events = UInt32(IN_OPEN | IN_CLOSE)
            guard descriptor >= 0, unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
                throw POSIXError(.EIO)
            }
        }

        deinit { close(descriptor) }

        /// Returns the number of openings since the last call.
        func count() -> Int {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let length = unsafe read(descriptor, &buffer, buffer.count)
            // An event of a watched file has 16 bytes. The low byte of its mask is the fifth one.
            return stride(from: 0, to: max(length, 0), by: 16).count { Int32(buffer[$0 + 4]) & IN_OPEN != 0 }
        }
    }

    @Test("A token request opens the file once, and a cached access token doesn't", arguments: [true, false])
    func openings(isAssertion: Bool) async throws {
        let folder = try TokenFolder()
        try folder.write(SampleToken().text)
        let time = ManualTime()
        defer { time.end() }
        let type = TokenType.accessToken.uri
        let members = #""issued_token_type":"\#(type)","token_type":"Bearer","expires_in":100"#
        let transport = MockTransport(time: time.timeSource) { _ in
            HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data(#"{"access_token":"a",\#(members)}"#.utf8)
            )
        }
        let file = FileTokenSource(
            path: folder.path,
            audience: "https://as.example",
            environment: WorkloadEnvironment(timeSource: time.timeSource)
        )
        let timing = OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: AuthorizationServer(
                    issuer: "https://as.example",
                    tokenEndpoint: URL(string: "https://as.example/token")!
                ),
                clientAuthentication: isAssertion
                    ? StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: file)
                    : .none(clientID: "reports"),
                client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
                timing: timing
            ),
            grant: isAssertion
                ? ClientCredentialsGrant()
                : TokenExchangeGrant(subject: file, subjectTokenType: .jwt, identifier: "reports"),
            store: InMemoryTokenStore(timeSource: time.timeSource)
        )
        let cached = CachedTokenSource(source, timing: timing)
        let openings = try Openings(of: folder.path)
        for number in 1...2 {
            for expected in [1, 0, 0] {
                _ = try await cached.token()
                #expect(openings.count() == expected)
            }
            #expect(transport.requests.count == number)
            time.advance(by: .seconds(100))
        }
    }
}

/// Reads a file while it's replaced as Kubernetes does: `token` is a link to `..data/token`, and
/// `..data` a link to a folder that the kubelet replaces and removes.
@Suite("Replaced files", .limitedConcurrency, .tags(.concurrency))
struct ReplacedFileTests {
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    @Test(
        "10,000 concurrent reads succeed while the volume's link is swapped and the old folder removed",
        .shows("O31", "W4", "Kubernetes (files)")
    )
    func swaps() async throws {
        try swap(to: 0)
        try FileManager.default.createSymbolicLink(atPath: folder.path, withDestinationPath: "..data/token")
        let source = KubernetesServiceAccountSource(
            audience: "https://as.example",
            path: folder.path,
            environment: WorkloadEnvironment(timeSource: ManualTime().timeSource)
        )
        let swapper = Task {
            var count = 0
            while !Task.isCancelled {
                count += 1
                try swap(to: count)
                try? await Task.sleep(for: .milliseconds(1))
            }
            return count
        }
        var seen: Set<String> = []
        try await withThrowingTaskGroup(of: String.self) { readers in
            for _ in 1...10_000 { readers.addTask { text(try await source.token()) } }
            for try await token in readers { seen.insert(token) }
        }
        // At least once, even if the reads were faster.
        while try await text(source.token()) == token(0) {}
        swapper.cancel()
        let count = try await swapper.value
        #expect(count > 0)
        #expect(seen.isSubset(of: (0...count).map(token)))
        #expect(text(try await source.token()) == token(count))
    }

    private func token(_ number: Int) -> String { SampleToken(["jti": .string("\(number)")]).text }

    /// Replaces the volume's content, in the kubelet's steps.
    private func swap(to number: Int) throws {
        let files = FileManager.default
        let new = folder.url.appending(path: "..\(number)")
        try files.createDirectory(at: new, withIntermediateDirectories: false)
        let file = new.appending(path: "token")
        try Data(token(number).utf8).write(to: file)
        try files.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        let link = folder.url.appending(path: "..data_tmp").path
        try files.createSymbolicLink(atPath: link, withDestinationPath: "..\(number)")
        guard unsafe rename(link, folder.url.appending(path: "..data").path) == 0 else { throw POSIXError(.EIO) }
        if number > 0 { try files.removeItem(at: folder.url.appending(path: "..\(number - 1)")) }
    }
}

@Suite("SPIFFEFileSource", .limitedConcurrency, .tags(.concurrency))
struct SPIFFEFileSourceTests {
    private let folder: TokenFolder
    private let environment = WorkloadEnvironment(timeSource: ManualTime(advancesWhenSleeping: true).timeSource)

    init() throws { folder = try TokenFolder() }

    private var source: SPIFFEFileSource {
        SPIFFEFileSource(audience: "https://as.example", path: folder.path, environment: environment)
    }

    @Test(
        "Reads a JWT-SVID",
        .shows("O31"),
        arguments: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS512"]
    )
    func reads(algorithm: String) async throws {
        var svid = SampleToken.svid
        svid.header["alg"] = .string(algorithm)
        try folder.write(svid.text)
        let token = try await source.token()
        #expect(text(token) == svid.text)
        #expect(token.type == "N_A")
    }

    @Test(
        "Refuses other algorithms",
        .shows("JWT-SVID §2, §3"),
        arguments: ["none", "HS256", "EdDSA", "RS1", "ES256K", "RSA256", ""]
    )
    func algorithms(name: String) async throws {
        var svid = SampleToken.svid
        svid.header["alg"] = .string(name)
        try folder.write(svid.text)
        #expect(await failure(of: source)?.code == .malformedToken)
    }

    @Test(
        "Refuses a document without a SPIFFE ID or an expiry, for another audience, or in JSON",
        .shows("JWT-SVID §2, §3")
    )
    func refusals() async throws {
        let cases: [(String, WorkloadIdentityError.Code)] = [
            (SampleToken(["sub": "reports"]).text, .malformedToken), (SampleToken(["sub": nil]).text, .malformedToken),
            (SampleToken(["sub": "spiffe://example.org/a", "exp": nil]).text, .malformedToken),
            (SampleToken(["sub": "spiffe://example.org/a", "aud": "b"]).text, .wrongAudience),
            (SampleToken(["sub": "spiffe://example.org/a", "exp": 1]).text, .expiredToken),
            (#"{"svid":"\#(SampleToken.svid.text)"}"#, .malformedToken),
        ]
        for (content, code) in cases {
            try folder.write(content)
            #expect(await failure(of: source)?.code == code, "\(content)")
        }
    }

    @Test("A missing file names the helper's setting")
    func missing() async throws {
        await expectFailure(of: source, .notConfigured, naming: #"jwt_audience = "https://as.example""#)
    }
}
