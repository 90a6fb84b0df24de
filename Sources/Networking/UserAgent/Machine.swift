internal import CCurl
import Foundation

/// The information about the process and the machine, read once.
struct Machine: Sendable {
    let sources: UserAgent.Sources

    static let current = Machine()

    private init() {
        var sources = UserAgent.Sources()
        // Foundation finds the main bundle through this link. Without /proc, `Bundle.main` traps.
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let bundle = (program == nil ? nil : Bundle.main.infoDictionary) ?? [:]
        let executable = ProcessInfo.processInfo.processName
        sources.applicationName = bundle["CFBundleName"] as? String ?? (executable.isEmpty ? nil : executable)
        sources.applicationVersion = bundle["CFBundleShortVersionString"] as? String
        if let names = Self.kernelNames() {
            sources.deviceModel = names.machine
            sources.kernelName = names.system
            sources.kernelRelease = names.release
        }
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        (sources.systemName, sources.systemVersion) = Self.system(osRelease: release)
        sources.networkName = "libcurl"
        sources.networkVersion = unsafe ccurl_version().map { unsafe String(cString: $0) }
        self.sources = sources
    }

    /// Returns the operating system that an os-release file (os-release(5)) names, such as `Debian`
    /// and `12`.
    static func system(osRelease: String) -> (name: String, version: String?) {
        var values: [Substring: String] = [:]
        for line in osRelease.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            values[parts[0]] = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
        }
        // NAME is for people (“Debian GNU/Linux”), ID for programs (`debian`).
        return (values["ID"]?.capitalized ?? "Linux", values["VERSION_ID"])
    }

    private static func kernelNames() -> (system: String, release: String, machine: String)? {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return nil }
        func text<Field>(_ field: Field) -> String {
            unsafe withUnsafeBytes(of: field) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        return (text(names.sysname), text(names.release), text(names.machine))
    }
}
