import Foundation

/// Adds the benchmark server's certificate to the system's bundle, for this process only.
///
/// URLSession on Linux trusts only the bundle that its libcurl was built with. As root, the program
/// restarts itself in a separate mount namespace with a modified copy of that file. Otherwise, the
/// TLS figures are omitted.
enum PrivateTrust {
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"
    private static let mark = "BENCH_PRIVATE_TRUST"

    /// The copy of the bundle inside the namespace; `nil` outside.
    static var file: URL? {
        ProcessInfo.processInfo.environment[mark].map { URL(filePath: $0) }
    }

    /// Restarts the program inside the namespace, or returns if that isn't possible.
    static func enter() throws {
        guard file == nil, getuid() == 0, FileManager.default.fileExists(atPath: bundle) else { return }
        let content = FileManager.default.temporaryDirectory.appending(path: "bench-bundle-\(UUID().uuidString).crt")
        try FileManager.default.copyItem(at: URL(filePath: bundle), to: content)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "unshare", "--mount", "--propagation", "private", "--", "sh", "-c",
                #"mount --bind "$0" "$1" && shift && exec "$@""#, content.path, bundle,
                "/proc/\(getpid())/exe",
            ] + CommandLine.arguments.dropFirst()
        process.environment = ProcessInfo.processInfo.environment.merging([mark: content.path]) { $1 }
        try process.run()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: content)
        // Failures of `unshare` or `mount`: 1 and 32. The program itself exits with other codes.
        guard [1, 32, 126, 127].contains(process.terminationStatus) == false else { return }
        exit(process.terminationStatus)
    }

    /// Appends the server's certificate to the bundle inside the namespace.
    static func add(_ certificate: URL) throws {
        guard let file else { return }
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(contentsOf: certificate))
        try handle.close()
    }
}
