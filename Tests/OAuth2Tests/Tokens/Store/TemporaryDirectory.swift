import Foundation

/// Calls a closure with a temporary directory, which is removed afterwards.
@discardableResult
func withTemporaryDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let directory = URL(filePath: NSTemporaryDirectory()).appending(path: "oauth2-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
        at: directory,
        withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700]
    )
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}
