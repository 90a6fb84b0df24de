import Foundation

/// Gives this process, and only this one, a system bundle of certificates with the benchmark server's in it.
///
/// URLSession on Linux trusts the bundle that its libcurl was built with and nothing else. The program starts itself again
/// in a mount namespace of its own, in which that file has another content; for that it must be root. Elsewhere there are no
/// figures of URLSession over TLS.
enum PrivateTrust {
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"
    private static let mark = "BENCH_PRIVATE_TRUST"

    /// The file whose content the bundle has inside the namespace; `nil` outside.
    static var file: URL? {
        ProcessInfo.processInfo.environment[mark].map { URL(filePath: $0) }
    }

    /// Starts the program again inside the namespace; returns if that can't be done, and then there is no such trust.
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
        // `unshare` or `mount` refused: 1 and 32; the program itself has other codes for its own failures.
        guard [1, 32, 126, 127].contains(process.terminationStatus) == false else { return }
        exit(process.terminationStatus)
    }

    /// Adds the server's certificate to the bundle inside the namespace.
    static func add(_ certificate: URL) throws {
        guard let file else { return }
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(contentsOf: certificate))
        try handle.close()
    }
}
