import Foundation
import Glibc
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

/// Reads a file while it's replaced as Kubernetes does: `token` is a link to `..data/token`, and
/// `..data` a link to a folder that the kubelet replaces and removes.
@Suite("Replaced files", .limitedConcurrency)
struct ReplacedFileTests {
    private let folder: TokenFolder

    init() throws { folder = try TokenFolder() }

    @Test("10,000 concurrent reads succeed while the volume's link is swapped and the old folder removed")
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
