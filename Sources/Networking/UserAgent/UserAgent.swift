/// What a client says about itself in the `User-Agent` header field.
///
/// The text is `{application}/{version} {model} {system}/{version} {network}/{version} {kernel}/{version}`, as in
/// `ID_Check/1.18.0 iPhone12,8 iOS/16.5.1 CFNetwork/1408.0.4 Darwin/22.5.0`, and on Linux
/// `quickstart/1.0.0 x86_64 Debian/12 libcurl/7.88.1 Linux/6.1.0`.
public struct UserAgent: Hashable, Sendable, CustomStringConvertible {
    /// A name with a version, a `product` of [RFC 9110 §10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5).
    public struct Product: Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let name: String
        /// The version.
        public let version: String

        /// Makes a product.
        ///
        /// - Parameters:
        ///   - name: The name; a character that a product can't have, such as a space, becomes `_`.
        ///   - version: The version; likewise.
        public init(name: String, version: String) {
            self.name = Self.token(name)
            self.version = Self.token(version)
        }

        /// The name and the version, separated by a slash.
        public var description: String { "\(name)/\(version)" }

        /// The text with every character that is not allowed in a token replaced, so that no input can break the header.
        static func token(_ text: String, otherCharacters: String = "") -> String {
            let characters = text.map { character in
                let isAllowed = character.utf8.count == 1 && character.utf8.allSatisfy(HTTPSyntax.isTokenByte)
                return isAllowed || otherCharacters.contains(character) ? character : "_"
            }
            return characters.isEmpty ? "Unknown" : String(characters)
        }
    }

    /// The application.
    public let application: Product
    /// The machine's model or, where there is none, its architecture.
    public let deviceModel: String
    /// The operating system.
    public let system: Product
    /// The library that does the networking.
    public let network: Product
    /// The kernel.
    public let kernel: Product

    /// The text that goes into the header field.
    public var description: String { "\(application) \(deviceModel) \(system) \(network) \(kernel)" }

    /// Makes a user agent; whatever is not given is taken from the process and the machine.
    ///
    /// - Parameters:
    ///   - applicationName: The application's name; by default the bundle's, or that of the executable file.
    ///   - applicationVersion: The application's version, three numbers separated by dots; by default the bundle's. What
    ///     is not a version becomes `1.0.0`.
    ///   - deviceModel: The model; by default the machine's architecture.
    ///   - system: The operating system; by default what `/etc/os-release` says.
    ///   - network: The library that does the networking; by default libcurl with its version.
    ///   - kernel: The kernel; by default what `uname` says.
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
        let own = Self(sources: sources)
        self.init(
            application: own.application,
            deviceModel: own.deviceModel,
            system: system ?? own.system,
            network: network ?? own.network,
            kernel: kernel ?? own.kernel
        )
    }

    init(application: Product, deviceModel: String, system: Product, network: Product, kernel: Product) {
        self.application = application
        self.deviceModel = deviceModel
        self.system = system
        self.network = network
        self.kernel = kernel
    }
}
