/// The value of the `User-Agent` header field.
///
/// The text is
/// `{application}/{version} {model} {system}/{version} {network}/{version} {kernel}/{version}`, as
/// in `ID_Check/1.18.0 iPhone12,8 iOS/16.5.1 CFNetwork/1408.0.4 Darwin/22.5.0`, and on Linux
/// `quickstart/1.0.0 x86_64 Debian/12 libcurl/7.88.1 Linux/6.1.0`.
public struct UserAgent: Hashable, Sendable, CustomStringConvertible {
    /// A name with a version, a `product` of
    /// [RFC 9110 §10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5).
    public struct Product: Hashable, Sendable, CustomStringConvertible {
        private let name: String
        private let version: String

        /// Creates a product.
        ///
        /// - Parameters:
        ///   - name: The name. Characters that a product can't contain, such as a space, become
        ///     `_`.
        ///   - version: The version. The same replacement applies.
        public init(name: String, version: String) {
            self.name = Self.token(name)
            self.version = Self.token(version)
        }

        /// The name and the version, separated by a slash.
        public var description: String { "\(name)/\(version)" }

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
    /// Values that you don't pass come from the process and the machine.
    ///
    /// - Parameters:
    ///   - applicationName: The application's name. The default is the bundle's name or that of the
    ///     executable file.
    ///   - applicationVersion: The application's version: three numbers separated by dots. The
    ///     default is the bundle's version. An invalid version becomes `1.0.0`.
    ///   - deviceModel: The model. The default is the machine's architecture.
    ///   - system: The operating system. The default comes from `/etc/os-release`.
    ///   - network: The networking library. The default is libcurl with its version.
    ///   - kernel: The kernel. The default comes from `uname`.
    public init(
        applicationName: String? = nil,
        applicationVersion: String? = nil,
        deviceModel: String? = nil,
        system: Product? = nil,
        network: Product? = nil,
        kernel: Product? = nil
    ) {
        var sources = Sources.process
        sources.applicationName = applicationName ?? sources.applicationName
        sources.applicationVersion = applicationVersion ?? sources.applicationVersion
        sources.deviceModel = deviceModel ?? sources.deviceModel
        self.init(sources: sources)
        self.system = system ?? self.system
        self.network = network ?? self.network
        self.kernel = kernel ?? self.kernel
    }
}
