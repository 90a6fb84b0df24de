import Foundation
import Glibc
import TestSupport
import Testing

@testable import OAuth2

/// Tests of locks on files that other processes remove or replace.
@Suite("File locks", .limitedConcurrency)
struct FileLockTests {
    @Test(
        "Locks a file again if it was replaced meanwhile, so that two processes can't hold the lock",
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
