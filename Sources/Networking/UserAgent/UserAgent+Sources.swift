internal import CCurl
import Foundation

extension UserAgent {
    /// The values that a user agent is made of, some of which may be missing.
    struct Sources: Sendable {
        var applicationName: String?
        var applicationVersion: String?
        var deviceModel: String?
        var systemName: String?
        var systemVersion: String?
        var networkName: String?
        var networkVersion: String?
        var kernelName: String?
        var kernelRelease: String?

        /// The values of the process and the machine, read once.
        static let process = {
            var sources = Self()
            // Foundation finds the main bundle through this link. Without it, `Bundle.main` traps.
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let bundle = (program == nil ? nil : Bundle.main.infoDictionary) ?? [:]
            sources.applicationName = bundle["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName
            sources.applicationVersion = bundle["CFBundleShortVersionString"] as? String
            if let names = kernelNames() {
                sources.deviceModel = names.machine
                sources.kernelName = names.system
                sources.kernelRelease = names.release
            }
            let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
            (sources.systemName, sources.systemVersion) = system(osRelease: release)
            sources.networkName = "libcurl"
            sources.networkVersion = unsafe ccurl_version().map { unsafe String(cString: $0) }
            return sources
        }()

        /// Returns the operating system that an os-release file (os-release(5)) names, such as
        /// `Debian` and `12`.
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

    /// Creates a user agent, with fallbacks for missing values and for versions that aren't three
    /// numbers.
    init(sources: Sources) {
        func product(_ name: String?, _ version: String?) -> Product {
            Product(name: name ?? "Unknown", version: version ?? "Unknown")
        }
        application = Product(
            name: sources.applicationName.flatMap { $0.isEmpty ? nil : $0 } ?? "Unknown_name",
            version: (sources.applicationVersion.flatMap(Version.init(string:)) ?? .one).description
        )
        // Apple's model names contain a comma, as in `iPhone12,8`.
        deviceModel = Product.token(sources.deviceModel ?? "Unknown", otherCharacters: ",")
        system = product(sources.systemName, sources.systemVersion)
        network = product(sources.networkName, sources.networkVersion)
        kernel = product(
            sources.kernelName,
            // Only the three leading numbers of a release such as `6.18.44-cloud-amd64`.
            (sources.kernelRelease.flatMap(Version.init(leadingPartOf:)) ?? .one).description
        )
    }
}
