public import Foundation

/// A file of the folder that the environment variable `JOSE_VECTORS_DIR` names: vectors that are too many for this repository.
///
/// Below that folder are `wycheproof`, with files of C2SP/wycheproof's `testvectors_v1`, and `rfc7520`, with the files of
/// ietf-jose/cookbook. Tests that need a file are skipped where it is not there.
public enum ExternalVector {
    /// The folder, or `nil` if the variable is not set.
    public static let folder: URL? = ProcessInfo.processInfo.environment["JOSE_VECTORS_DIR"]
        .flatMap { $0.isEmpty ? nil : URL(filePath: $0, directoryHint: .isDirectory) }

    /// Why a test is skipped.
    public static let hint = "needs a folder of vectors: set JOSE_VECTORS_DIR, see CONTRIBUTING.md"

    /// Whether a file is there.
    public static func exists(_ path: String) -> Bool {
        folder.map { FileManager.default.fileExists(atPath: $0.appending(path: path).path) } ?? false
    }

    /// The paths of the JSON files in a subfolder, sorted; none if it is not there.
    public static func paths(in subfolder: String) -> [String] {
        guard let folder else { return [] }
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: subfolder).path)
        return (names ?? []).filter { $0.hasSuffix(".json") }.sorted().map { "\(subfolder)/\($0)" }
    }

    /// Reads a file's octets.
    public static func data(_ path: String) throws -> Data {
        guard let folder else { throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: path]) }
        return try Data(contentsOf: folder.appending(path: path))
    }
}
