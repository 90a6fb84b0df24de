import Foundation
import Glibc
import Testing

@testable import OAuth2

/// Locks on files that others remove or replace.
@Suite("File locks", .timeLimit(.minutes(10)))
struct FileLockTests {
    @Test(
        "A file that is replaced while it is being locked is locked anew, so that two can't have the lock",
        arguments: [true, false]
    )
    func replaced(isPatient: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path + "/a.lock"
            var replacements = 0
            let lock = try FileLock(path, isPatient: isPatient) {
                guard replacements < 3 else { return }
                replacements += 1
                // Alternately gone, and another one.
                #expect(unsafe unlink(path) == 0)
                if replacements == 2 { close(unsafe open(path, O_RDWR | O_CREAT, 0o600)) }
            }
            #expect(lock != nil)
            #expect(replacements == 3)
            // Another one finds the same file locked.
            #expect(try FileLock(path, isPatient: false) == nil)
            withExtendedLifetime(lock) {}
        }
    }

    @Test("A file that is replaced all the time can't be locked, and no descriptor is left open")
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
