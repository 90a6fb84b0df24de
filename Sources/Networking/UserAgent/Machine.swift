internal import CCurl
import Foundation

/// What the process and the machine say about themselves, read once.
struct Machine: Sendable {
    var applicationName: String?
    var applicationVersion: String?
    var model: String?
    var system: UserAgent.Product
    var network: UserAgent.Product
    var kernel: UserAgent.Product

    static let current = Machine()

    private init() {
        let bundle = Bundle.main.infoDictionary ?? [:]
        let executable = ProcessInfo.processInfo.processName
        applicationName = bundle["CFBundleName"] as? String ?? (executable.isEmpty ? nil : executable)
        applicationVersion = bundle["CFBundleShortVersionString"] as? String
        let names = Self.kernelNames()
        model = names?.machine
        kernel = Self.kernel(name: names?.system, release: names?.release)
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        system = Self.system(osRelease: release)
        network = Self.network(libraryVersion: unsafe ccurl_version().map { unsafe String(cString: $0) })
    }

    /// The kernel, with the three numbers that its release begins with, or `1.0.0` if it does not begin so.
    static func kernel(name: String?, release: String?) -> UserAgent.Product {
        let version = release.flatMap(Version.init(leadingPartOf:)) ?? .one
        return UserAgent.Product(name: name ?? "Unknown", version: version.description)
    }

    /// The operating system of an os-release file (os-release(5)): `Debian/12`.
    static func system(osRelease: String) -> UserAgent.Product {
        var values: [Substring: String] = [:]
        for line in osRelease.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            values[parts[0]] = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
        }
        // NAME is for people (“Debian GNU/Linux”), ID for programs (`debian`).
        return UserAgent.Product(
            name: values["ID"]?.capitalized ?? "Linux",
            version: values["VERSION_ID"] ?? "Unknown"
        )
    }

    /// The library that does the networking, with the version that it tells.
    static func network(libraryVersion: String?) -> UserAgent.Product {
        UserAgent.Product(name: "libcurl", version: libraryVersion ?? "Unknown")
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
