extension UserAgent {
    /// The values that a user agent is made of, some of which may be missing.
    ///
    /// ```swift
    /// var sources = UserAgent.Sources.process
    /// sources.deviceModel = "kiosk"
    /// let agent = UserAgent(sources: sources)
    /// ```
    package struct Sources: Sendable, Hashable {
        /// The application's name; the fallback is `Unknown_name`.
        package var applicationName: String?
        /// The application's version; the fallback is `1.0.0`, also if it isn't three numbers.
        package var applicationVersion: String?
        /// The machine's model or architecture; the fallback is `Unknown`.
        package var deviceModel: String?
        /// The operating system's name; the fallback is `Unknown`.
        package var systemName: String?
        /// The operating system's version; the fallback is `Unknown`.
        package var systemVersion: String?
        /// The networking library's name; the fallback is `Unknown`.
        package var networkName: String?
        /// The networking library's version, unchanged; the fallback is `Unknown`.
        package var networkVersion: String?
        /// The kernel's name; the fallback is `Unknown`.
        package var kernelName: String?
        /// The kernel's release, of which the leading three numbers are used; the fallback is
        /// `1.0.0`.
        package var kernelRelease: String?

        /// Creates sources without any values.
        package init() {}

        /// The values of the current process and machine.
        package static var process: Self { Machine.current.sources }
    }

    /// Creates a user agent from sources.
    ///
    /// - Parameter sources: The values. ``Sources`` documents the fallback for each missing one.
    package init(sources: Sources) {
        func product(_ name: String?, _ version: String?) -> Product {
            Product(name: name ?? "Unknown", version: version ?? "Unknown")
        }
        self.init(
            application: Product(
                name: sources.applicationName.flatMap { $0.isEmpty ? nil : $0 } ?? "Unknown_name",
                version: (sources.applicationVersion.flatMap(Version.init(string:)) ?? .one).description
            ),
            // Apple's model names contain a comma, as in `iPhone12,8`.
            deviceModel: Product.token(sources.deviceModel ?? "Unknown", otherCharacters: ","),
            system: product(sources.systemName, sources.systemVersion),
            network: product(sources.networkName, sources.networkVersion),
            kernel: product(
                sources.kernelName,
                (sources.kernelRelease.flatMap(Version.init(leadingPartOf:)) ?? .one).description
            )
        )
    }
}
