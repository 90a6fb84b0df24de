internal import CCurl
import Foundation

/// The value of the `User-Agent` header field.
///
/// The text is
/// `{application}/{version} {model} {system}/{version} {network}/{version} {kernel}/{version}`, as
/// in `ID_Check/1.18.0 iPhone12,8 iOS/16.5.1 CFNetwork/1408.0.4 Darwin/22.5.0`, and on Linux
/// `quickstart/1.0.0 x86_64 Debian/12 libcurl/7.88.1 Linux/6.1.0`.
public struct UserAgent: Hashable, Sendable, CustomStringConvertible {
    /// A name with a version, a `product` of
    /// [RFC 9110 §10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5).
    struct Product: Hashable, Sendable, CustomStringConvertible {
        private let name: String
        private let version: String

        init(name: String, version: String) {
            self.name = Self.token(name)
            self.version = Self.token(version)
        }

        /// Reads a text such as `Debian/12`.
        init(_ text: String) {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            self.init(name: String(parts[0]), version: parts.count > 1 ? String(parts[1]) : "")
        }

        var description: String { "\(name)/\(version)" }

        /// Replaces the characters that a token can't contain, so that no input can break the
        /// header.
        static func token(_ text: String, otherCharacters: String = "") -> String {
            let characters = text.map { character in
                let isAllowed = character.utf8.count == 1 && character.utf8.allSatisfy(HTTPSyntax.isTokenByte)
                return isAllowed || otherCharacters.contains(character) ? character : "_"
            }
            return characters.isEmpty ? "Unknown" : String(characters)
        }
    }

    let application: Product
    let deviceModel: String
    var system: Product
    var network: Product
    var kernel: Product

    /// The value of the header field.
    public var description: String { "\(application) \(deviceModel) \(system) \(network) \(kernel)" }

    /// Creates a user agent.
    ///
    /// Values that you don't pass come from the process and the machine. Characters that the field
    /// can't contain, such as a space in a name, become `_`.
    ///
    /// - Parameters:
    ///   - applicationName: The application's name. The default is the bundle's name or that of the
    ///     executable file.
    ///   - applicationVersion: The application's version: three numbers separated by dots. The
    ///     default is the bundle's version. An invalid version becomes `1.0.0`.
    ///   - deviceModel: The model. The default is the machine's architecture.
    ///   - system: The operating system, such as `Debian/12`. The default comes from
    ///     `/etc/os-release`.
    ///   - network: The networking library, such as `libcurl/7.88.1`. The default is libcurl.
    ///   - kernel: The kernel, such as `Linux/6.1.0`. The default comes from `uname`.
    public init(
        applicationName: String? = nil,
        applicationVersion: String? = nil,
        deviceModel: String? = nil,
        system: String? = nil,
        network: String? = nil,
        kernel: String? = nil
    ) {
        var sources = Sources.process
        sources.applicationName = applicationName ?? sources.applicationName
        sources.applicationVersion = applicationVersion ?? sources.applicationVersion
        sources.deviceModel = deviceModel ?? sources.deviceModel
        self.init(sources: sources)
        self.system = system.map(Product.init) ?? self.system
        self.network = network.map(Product.init) ?? self.network
        self.kernel = kernel.map(Product.init) ?? self.kernel
    }

    /// Creates a user agent with an application's name and version.
    ///
    /// The other values come from the process and the machine.
    ///
    /// - Parameters:
    ///   - applicationName: The application's name.
    ///   - applicationVersion: The application's version.
    public init(applicationName: String, applicationVersion: Version) {
        self.init(applicationName: applicationName, applicationVersion: applicationVersion.description)
    }

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

        /// Reads an os-release file (os-release(5)); returns names such as `Debian` and `12`.
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

    /// Has fallbacks for missing values and for versions that aren't three numbers.
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

// The advice for what people write first.
extension UserAgent {
    /// Unavailable: Use ``init(applicationName:applicationVersion:)``.
    @available(*, unavailable, renamed: "init(applicationName:applicationVersion:)")
    public init(name: String, version: String) {
        self.init(applicationName: name, applicationVersion: version)
    }

    /// Unavailable: Use ``init(applicationName:applicationVersion:)``.
    @available(*, unavailable, renamed: "init(applicationName:applicationVersion:)")
    public init(product: String, version: String) {
        self.init(applicationName: product, applicationVersion: version)
    }

    /// Unavailable: A user agent has a fixed form; ``NetworkClient/Options/userAgent`` takes any
    /// text.
    @available(
        *,
        unavailable,
        message: "Use UserAgent(applicationName:applicationVersion:), or assign a text to userAgent of the options."
    )
    public init(_ text: String) {
        self.init(applicationName: text)
    }
}

/// Unavailable: Use ``init(applicationName:applicationVersion:)``.
@available(
    *,
    unavailable,
    message: "Use UserAgent(applicationName:applicationVersion:), or assign a text to userAgent of the options."
)
extension UserAgent: ExpressibleByStringLiteral {
    /// Unavailable.
    public init(stringLiteral text: String) {
        self.init(applicationName: text)
    }
}
