import Foundation

/// A temporary folder with a token file.
final class TokenFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "workload-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.appending(path: "token").path }

    /// Writes the file, with permissions for its owner only.
    func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}
