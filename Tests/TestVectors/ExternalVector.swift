public import Foundation

/// The vector collections that are too large for this repository.
///
/// The environment variable `JOSE_VECTORS_DIR` names their folder. It contains `wycheproof`, with
/// files from C2SP/wycheproof's `testvectors_v1`, `rfc7520`, with the files of
/// ietf-jose/cookbook, `structured-fields`, with the files of httpwg/structured-field-tests, and
/// `adcp-signing`, with two folders of adcontextprotocol/adcp.
/// Tests are skipped if their file is missing.
public enum ExternalVector {
    /// The folder, or `nil` if the variable isn't set.
    public static let folder: URL? = ProcessInfo.processInfo.environment["JOSE_VECTORS_DIR"]
        .flatMap { $0.isEmpty ? nil : URL(filePath: $0, directoryHint: .isDirectory) }

    /// The reason for skipping a test.
    public static let hint = "Missing test vectors. Set JOSE_VECTORS_DIR; see CONTRIBUTING.md."

    /// Returns a Boolean value that indicates whether a file exists.
    public static func exists(_ path: String) -> Bool {
        folder.map { FileManager.default.fileExists(atPath: $0.appending(path: path).path) } ?? false
    }

    /// Returns the sorted paths of the JSON files in a subfolder, or an empty array.
    public static func paths(in subfolder: String) -> [String] {
        guard let folder else { return [] }
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: subfolder).path)
        return (names ?? []).filter { $0.hasSuffix(".json") }.sorted().map { "\(subfolder)/\($0)" }
    }

    /// Reads a file's bytes.
    public static func data(_ path: String) throws -> Data {
        guard let folder else { throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: path]) }
        return try Data(contentsOf: folder.appending(path: path))
    }
}
