import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("FileTokenStore", .limitedConcurrency, .tags(.concurrency))
struct FileTokenStoreTests {
    private static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    private let record = TokenRecord(accessToken: Secret("access-secret"), refreshToken: Secret("refresh-secret"))

    @Test("Directory and files are accessible only to their owner", .shows("Y3"))
    func permissions() async throws {
        try await withTemporaryDirectory { parent in
            let directory = parent.appending(path: "a/b")
            let store = try FileTokenStore(directory: directory)
            _ = try await store.compareAndSwap("k", expectedVersion: nil, record: record)
            _ = try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) { 0 }
            #expect(try mode(directory) == 0o700)
            let files = try names(in: directory)
            #expect(files.count == 3)
            for file in files { #expect(try mode(directory.appending(path: file)) == 0o600) }
        }
    }

    @Test("Rejects a directory that others can write to", .shows("Z8"))
    func openDirectory() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: directory.path)
            #expect(throws: OAuth2Error(.storeFailed, "")) { try FileTokenStore(directory: directory) }
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            #expect(throws: OAuth2Error(.storeFailed, "")) { try FileTokenStore(directory: file) }
            let remote = try #require(URL(string: "https://store.example/tokens"))
            #expect(throws: OAuth2Error(.storeFailed, "")) { try FileTokenStore(directory: remote) }
        }
    }

    @Test("An encrypted file contains no secret, and is unusable without the key or with another key", .shows("Y3"))
    func encryption() async throws {
        try await withStore(encryptionKey: Self.key) { store, directory, file in
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(!text.contains("secret"))
            let other = Secret("BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
            for key in [nil, other] {
                let store = try FileTokenStore(directory: directory, encryptionKey: key)
                #expect(await failureCode { try await store.load("k") } == .storeDamaged)
                #expect(
                    await failureCode { try await store.remove("k", ifVersion: TokenRecordVersion("1")) }
                        == .storeDamaged
                )
            }
            #expect(try await store.load("k")?.record == record)
        }
    }

    @Test("Rejects a key of another size", arguments: ["", "AAEC", "not base64!", "AAECAwQFBgcICQoLDA0ODw=="])
    func keySize(text: String) async throws {
        try await withTemporaryDirectory { directory in
            #expect(throws: OAuth2Error(.storeFailed, "")) {
                try FileTokenStore(directory: directory, encryptionKey: Secret(text))
            }
        }
    }

    @Test("Detects an encrypted record of another key, or an older one with a newer version")
    func sealedElsewhere() async throws {
        try await withStore(encryptionKey: Self.key) { store, _, file in
            let text = try String(contentsOf: file, encoding: .utf8)
            let version = try #require(try await store.load("k")?.version)
            for (old, new) in [("\(version)", "\(version)1"), (#""key":"k""#, #""key":"l""#)] {
                try Data(text.replacing(old, with: new).utf8).write(to: file)
                #expect(await failureCode { try await store.load("k") } == .storeDamaged)
            }
        }
    }

    @Test(
        "Doesn't write a record that can't be read back, encrypted or not",
        arguments: [(nil, 1_048_390), (Self.key, 786_240)]
    )
    func largestRecord(key: Secret?, approximateSize: Int) async throws {
        try await withTemporaryDirectory { directory in
            let store = try FileTokenStore(directory: directory, encryptionKey: key)
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: record) != nil)
            let version = try await store.load("k")?.version
            // The largest token that is written can be read back. The first one that can't leaves
            // the old record in place.
            let range = approximateSize - 50..<approximateSize + 50
            var (written, refused) = (range.lowerBound, range.upperBound)
            while refused - written > 1 {
                let size = (written + refused) / 2
                let large = TokenRecord(accessToken: Secret(String(repeating: "a", count: size)))
                var version: TokenRecordVersion?
                do {
                    version = try await store.load("l")?.version
                    #expect(try await store.compareAndSwap("l", expectedVersion: version, record: large) != nil)
                    #expect(try await store.load("l")?.record == large)
                    written = size
                } catch {
                    #expect(error as? OAuth2Error == OAuth2Error(.storeFailed, ""))
                    #expect(try await store.load("l")?.version == version)
                    refused = size
                }
            }
            #expect(written > range.lowerBound && refused < range.upperBound)
            // A date with finer fractions than a number of seconds since 1970 keeps.
            let fine = TokenRecord(
                accessToken: Secret("a"),
                expiration: Date(timeIntervalSinceReferenceDate: 800_000_000.123_456_7)
            )
            #expect(try await store.compareAndSwap("f", expectedVersion: nil, record: fine) != nil)
            for odd in [
                TokenRecord(accessToken: Secret("a"), expiration: Date(timeIntervalSince1970: .nan)),
                TokenRecord(accessToken: Secret("a"), expiration: Date(timeIntervalSince1970: .infinity)),
            ] {
                let code = await failureCode {
                    try await store.compareAndSwap("k", expectedVersion: version, record: odd)
                }
                #expect(code == .storeFailed)
            }
            #expect(try await store.load("k")?.record == record)
            #expect(try names(in: directory).allSatisfy { !$0.contains("damaged") })
        }
    }

    @Test("A truncated file is an error until a new record replaces it and sets it aside")
    func cutShort() async throws {
        try await withStore { store, directory, file in
            let whole = try Data(contentsOf: file)
            for count in 0..<whole.count {
                try whole.prefix(count).write(to: file)
                let code = await failureCode { try await store.load("k") }
                #expect(code == .storeDamaged, "\(count) bytes")
            }
            #expect(
                try await store.compareAndSwap("k", expectedVersion: TokenRecordVersion("1"), record: record) == nil
            )
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: record) != nil)
            #expect(try await store.load("k")?.record == record)
            let aside = try #require(try names(in: directory).first { $0.contains(".damaged-") })
            #expect(try Data(contentsOf: directory.appending(path: aside)) == whole.dropLast())
        }
    }

    @Test(
        "An invalid record is an error, not a crash",
        arguments: [
            "{}", "null", "[]", #"{"format":"other","version":2}"#, #"{"format":"swift-authenticated-client/token"}"#,
            #"{"format":"swift-authenticated-client/token","version":2,"key":"k","revision":"x","record":{}}"#,
            #"{"format":"swift-authenticated-client/token","version":2,"key":"k","revision":"1","record":{}}"#,
            #"{"format":"swift-authenticated-client/token","version":2,"key":"k","revision":"1","sealed":"AA"}"#,
            """
            {"format":"swift-authenticated-client/token","version":2,"key":"k","revision":"1",\
            "record":{"access_token":"a","token_type":"b","expiration":"nan"}}
            """,
        ]
    )
    func foreign(text: String) async throws {
        try await withStore { store, _, file in
            try Data(text.utf8).write(to: file)
            #expect(await failureCode { try await store.load("k") } == .storeDamaged)
        }
    }

    @Test("No operation changes a file of a newer version")
    func newer() async throws {
        try await withStore { store, _, file in
            let newer = #"{"format":"swift-authenticated-client/token","version":3,"tokens":[]}"#
            try Data(newer.utf8).write(to: file)
            #expect(await failureCode { try await store.load("k") } == .storeTooNew)
            let removal = await failureCode { try await store.remove("k", ifVersion: TokenRecordVersion("1")) }
            #expect(removal == .storeTooNew)
            let code = await failureCode { [record] in
                _ = try await store.compareAndSwap("k", expectedVersion: nil, record: record)
            }
            #expect(code == .storeTooNew)
            #expect(try String(contentsOf: file, encoding: .utf8) == newer)
        }
    }

    @Test("Doesn't follow a link in place of the file", .shows("Z8"))
    func link() async throws {
        try await withStore { store, directory, file in
            let elsewhere = directory.appending(path: "elsewhere")
            try FileManager.default.moveItem(at: file, to: elsewhere)
            try FileManager.default.createSymbolicLink(at: file, withDestinationURL: elsewhere)
            #expect(await failureCode { try await store.load("k") } == .storeFailed)
        }
    }

    @Test("A partial write left by a crash isn't read and doesn't affect the next write")
    func leftover() async throws {
        try await withStore { store, _, file in
            let temporary = file.deletingPathExtension().appendingPathExtension("tmp")
            try Data("half".utf8).write(to: temporary)
            let version = try await store.load("k")?.version
            #expect(try await store.compareAndSwap("k", expectedVersion: version, record: record) != nil)
            #expect(!FileManager.default.fileExists(atPath: temporary.path))
        }
    }

    @Test("Client credentials set a damaged record aside and continue, but a user's grant fails")
    func damagedRecord() async throws {
        try await withTemporaryDirectory { directory in
            let fixture = OAuth2Fixture(steps: [.tokens("a1"), .tokens("b1", refresh: "r1")])
            let store = try FileTokenStore(directory: directory)
            let grant = RefreshTokenGrant(refreshToken: Secret("r0"))
            _ = try await fixture.authenticator(store: store).text()
            _ = try await fixture.authenticator(grant: grant, store: store).text()
            for name in try names(in: directory) where name.hasSuffix(".json") {
                try Data("damaged".utf8).write(to: directory.appending(path: name))
            }
            #expect(try await fixture.authenticator(store: store).text() == "access-1")
            let user = fixture.authenticator(grant: grant, store: store)
            for _ in 1...2 { #expect(await failureCode { try await user.text() } == .storeDamaged) }
            #expect(fixture.endpoint.requests.count == 3)
            try await user.signIn(with: Secret("r5"))
            #expect(try await user.text() == "access-2")
            #expect(fixture.forms.last?["refresh_token"] == "r5")
            #expect(try names(in: directory).count { $0.contains(".damaged-") } == 2)
        }
    }

    @Test("Records a refresh token before sending it, so that a crash isn't taken for a revocation", .shows("O23"))
    func possiblyLost() async throws {
        try await withTemporaryDirectory { directory in
            let store = try FileTokenStore(directory: directory)
            let grant = RefreshTokenGrant(refreshToken: Secret("r0"))
            // The first process ends before the response arrives.
            let first = OAuth2Fixture(steps: [.never])
            let call = Task { try await first.authenticator(grant: grant, store: store).text() }
            try await first.endpoint.waitForRequests(count: 1)
            let second = OAuth2Fixture(steps: [.error("invalid_grant")])
            let other = try FileTokenStore(directory: directory)
            let later = Task { try await second.authenticator(grant: grant, store: other).text() }
            // The first process releases the lock when its request has timed out.
            while !second.events.tokenEvents.contains(.refreshInDoubt) {
                first.time.advanceToNextSleeper()
                await Task.yield()
            }
            _ = await first.runOut(call)
            // The refresh, and the time in which the first request may still be pending.
            try await second.time.waitForSleepers(count: 2)
            #expect(second.endpoint.requests.isEmpty)
            second.time.advance(by: .seconds(20))
            let error = await failure { try await later.value }
            #expect((error?.code, error?.isPossiblyLostRotation) == (.reauthenticationRequired, true))
            #expect(second.forms.map { $0["refresh_token"] } == ["r0"])
        }
    }

    // MARK: Files

    /// Runs a test with a store that contains a record, and the record's file.
    private func withStore(
        encryptionKey: Secret? = nil,
        _ body: (FileTokenStore, _ directory: URL, _ file: URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let store = try FileTokenStore(directory: directory, encryptionKey: encryptionKey)
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: record) != nil)
            try await body(store, directory, try file(in: directory))
        }
    }

    private func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    private func file(in directory: URL) throws -> URL {
        directory.appending(path: try #require(try names(in: directory).first { $0.hasSuffix(".json") }))
    }

    private func mode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }
}
