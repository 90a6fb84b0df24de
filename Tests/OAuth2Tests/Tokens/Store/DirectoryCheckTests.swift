import Foundation
import Glibc
import TestSupport
import Testing

@testable import OAuth2

/// Tests of the store's folder, its parents and its locks.
@Suite("Token store folders and locks", .limitedConcurrency, .tags(.concurrency))
struct DirectoryCheckTests {
    private func check(_ path: String, says words: [String]) {
        do {
            _ = try FileTokenStore(directory: URL(filePath: path))
            #expect(words.isEmpty, "\(path) was accepted")
        } catch {
            #expect(error.code == .storeFailed)
            for word in words { #expect(error.message.contains(word), "\(error.message)") }
        }
    }

    private func chmod(_ mode: mode_t, _ path: String) { #expect(unsafe Glibc.chmod(path, mode) == 0) }

    @Test(
        "Rejects a parent folder that others can write to, with its name and the command that repairs it",
        .shows("S12")
    )
    func parents() async throws {
        try await withTemporaryDirectory { directory in
            let parent = directory.path + "/a b"
            let store = parent + "/c/tokens"
            check(store, says: [])
            for mode: mode_t in [0o775, 0o757, 0o777] {
                chmod(mode, parent)
                check(store, says: ["“\(parent)”", "chmod go-w '\(parent)'"])
            }
            // In a sticky folder, users can't rename what they don't own.
            chmod(0o1777, parent)
            check(store, says: [])
            chmod(0o755, parent)
            check(store, says: [])
        }
    }

    @Test("Rejects a store folder that others can write to, even a sticky one", .shows("S12"))
    func store() async throws {
        try await withTemporaryDirectory { directory in
            let store = directory.path + "/it's"
            check(store, says: [])
            for mode: mode_t in [0o770, 0o702, 0o1777] {
                chmod(mode, store)
                check(store, says: ["“\(store)”", "chmod go-w '\(directory.path)/it'\\''s'"])
            }
            chmod(0o755, store)
            check(store, says: [])
            // A quotation mark and a combining mark form one character.
            let other = directory.path + "/it'\u{301}s"
            check(other, says: [])
            chmod(0o770, other)
            check(other, says: ["chmod go-w '\(directory.path)/it'\\''\u{301}s'"])
        }
    }

    @Test("Checks both paths of a link to the store, and resolves it once", .shows("S12"))
    func links() async throws {
        try await withTemporaryDirectory { directory in
            let (open, real, link) = ("\(directory.path)/open", "\(directory.path)/real", "\(directory.path)/link")
            try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
            check("\(open)/tokens", says: [])
            chmod(0o777, open)
            #expect(unsafe symlink("\(open)/tokens", link) == 0)
            check(link, says: ["“\(open)”"])
            check(real, says: [])
            #expect(unsafe symlink(real, "\(open)/link") == 0)
            check("\(open)/link", says: ["“\(open)”"])
            chmod(0o755, open)
            let store = try FileTokenStore(directory: URL(filePath: "\(open)/link"))
            #expect(unsafe unlink("\(open)/link") == 0)
            let record = TokenRecord(accessToken: Secret("a"))
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: record) != nil)
            #expect(try await store.load("k")?.record == record)
        }
    }

    @Test(
        "Rejects a folder of another user by name",
        .enabled(if: geteuid() == 0, "only root can change a folder's owner"),
        .shows("S12")
    )
    func owner() async throws {
        try await withTemporaryDirectory { directory in
            let parent = directory.path + "/theirs"
            let store = parent + "/tokens"
            check(store, says: [])
            #expect(unsafe chown(parent, 4_711, 0) == 0)
            check(store, says: ["“\(parent)”", "4711", "chown 0 \(parent)"])
            #expect(unsafe chown(parent, 0, 0) == 0)
            #expect(unsafe lchown(store, 4_711, 0) == 0)
            check(store, says: ["“\(store)”"])
            // A link that another user can change.
            let link = directory.path + "/link"
            #expect(unsafe symlink(directory.path + "/own", link) == 0)
            check(directory.path + "/own", says: [])
            check(link, says: [])
            #expect(unsafe lchown(link, 4_711, 0) == 0)
            check(link, says: ["“\(link)”"])
        }
    }

    // MARK: Locks on files that other processes remove or replace

    @Test(
        "Locks a file again if it was replaced meanwhile, so that two processes can't hold the lock",
        .shows("S13"),
        arguments: [true, false]
    )
    func replaced(isPatient: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path + "/a.lock"
            var replacements = 0
            let lock = try FileLock(path, isPatient: isPatient) {
                guard replacements < 3 else { return }
                replacements += 1
                // Removes the file, and every other time creates another one.
                #expect(unsafe unlink(path) == 0)
                if replacements == 2 { close(unsafe open(path, O_RDWR | O_CREAT, 0o600)) }
            }
            #expect(lock != nil)
            #expect(replacements == 3)
            // Another attempt finds the same file locked.
            #expect(try FileLock(path, isPatient: false) == nil)
            withExtendedLifetime(lock) {}
        }
    }

    @Test("Fails for a file that is replaced constantly, and leaves no descriptor open")
    func replacedAllTheTime() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path + "/a.lock"
            var replacements = 0
            #expect(throws: OAuth2Error(.storeFailed, "")) {
                try FileLock(path, isPatient: true) {
                    replacements += 1
                    unsafe unlink(path)
                }
            }
            #expect(replacements == 100)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            #expect(!open.contains { $0.hasPrefix(path) })
        }
    }
}
