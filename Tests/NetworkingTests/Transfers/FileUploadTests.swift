import Foundation
import Glibc
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Tests of file uploads: the engine reads cached bytes itself, and leaves the rest to a thread
/// that may block.
@Suite("Uploads of files", .limitedConcurrency)
struct FileUploadTests {
    enum Place: CaseIterable { case memory, disk, both, otherFileSystem }

    private static let bytes = [UInt8](RangedResource.octets(3 << 20, seed: 9))
    private static var octets: Data { Data(bytes) }

    private func withFile(_ place: Place = .memory, _ test: (URL) async throws -> Void) async throws {
        // A file system that can't report which bytes are cached, if there is one.
        let other = URL(filePath: "/dev/shm")
        let isOther = place == .otherFileSystem && FileManager.default.isWritableFile(atPath: other.path)
        let parent = isOther ? other : FileManager.default.temporaryDirectory
        let file = parent.appending(path: "upload-\(UUID().uuidString).pdf")
        try Self.octets.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        switch place {
        case .memory, .otherFileSystem: break
        case .disk: try forget(file, from: 0)
        case .both: try forget(file, from: 1 << 20)
        }
        try await test(file)
    }

    /// Evicts a file's bytes from the system's cache.
    private func forget(_ file: URL, from start: Int) throws {
        let handle = try FileHandle(forUpdating: file)
        #expect(fsync(handle.fileDescriptor) == 0)
        #expect(posix_fadvise(handle.fileDescriptor, off_t(start), 0, POSIX_FADV_DONTNEED) == 0)
        try handle.close()
    }

    @Test("Uploads an unchanged file from any storage, and again for a retry", arguments: Place.allCases)
    func places(_ place: Place) async throws {
        try await withFile(place) { file in
            try await withLoopbackServer { server async throws in
                let count = Mutex(0)
                server.on(.put, "/files") { _ in
                    let isFirst = count.withLock { count in
                        defer { count += 1 }
                        return count == 0
                    }
                    return isFirst ? .status(503) : .status(204)
                }
                let client = NetworkClient(
                    interceptors: [Retry.Policy.maxRetries(1)],
                    options: NetworkClient.Options(retryBudget: nil)
                )
                let upload = client.upload(try .file(file), to: server.url(for: "/files"), method: .put)
                #expect(try await upload.value.status == 204)
                #expect(server.requests.map(\.body) == [Self.octets, Self.octets])
                #expect(upload.currentProgress.completedBytes == Self.octets.count)
            }
        }
    }

    @Test("Fails if the file becomes shorter", arguments: [0, 5, 1 << 20])
    func shrunk(to count: Int) async throws {
        try await withFile { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .text("ok"))
                let source = try EndpointBody.file(file)
                try Self.octets.prefix(count).write(to: file)
                let upload = NetworkClient().upload(source, to: server.url(for: "/files"))
                #expect(await failure { _ = try await upload.value }?.code == .invalidRequest)
                #expect(server.requestCount == 0)
            }
        }
    }

    @Test("Sends the original length of a file that becomes longer")
    func grown() async throws {
        try await withFile { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/files", .text("ok"))
                let source = try EndpointBody.file(file)
                try (Self.octets + Data("more".utf8)).write(to: file)
                _ = try await NetworkClient().upload(source, to: server.url(for: "/files")).value
                #expect(server.requests.first?.body == Self.octets)
            }
        }
    }
}
