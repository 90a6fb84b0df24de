extension UserAgent {
    /// Where the parts of a user agent come from, and what is missing.
    ///
    /// ```swift
    /// var sources = UserAgent.Sources.process
    /// sources.deviceModel = "kiosk"
    /// let agent = UserAgent(sources: sources)
    /// ```
    package struct Sources: Sendable, Hashable {
        /// The application's name; without one it is `Unknown_name`.
        package var applicationName: String?
        /// The application's version; without one, and for what is not three numbers, it is `1.0.0`.
        package var applicationVersion: String?
        /// The machine's model or architecture; without one it is `Unknown`.
        package var deviceModel: String?
        /// The operating system's name; without one it is `Unknown`.
        package var systemName: String?
        /// The operating system's version; without one it is `Unknown`.
        package var systemVersion: String?
        /// The name of the library that does the networking; without one it is `Unknown`.
        package var networkName: String?
        /// The version of the library that does the networking, as it is; without one it is `Unknown`.
        package var networkVersion: String?
        /// The kernel's name; without one it is `Unknown`.
        package var kernelName: String?
        /// The kernel's release, of which the three numbers at its beginning count; without them the version is `1.0.0`.
        package var kernelRelease: String?

        /// Makes sources in which everything is missing.
        package init() {}

        /// What the process and the machine say about themselves.
        package static var process: Self { Machine.current.sources }
    }

    /// Makes a user agent of sources.
    ///
    /// - Parameter sources: Where the parts come from; what is missing there gets the fallback that ``Sources`` names.
    package init(sources: Sources) {
        func product(_ name: String?, _ version: String?) -> Product {
            Product(name: name ?? "Unknown", version: version ?? "Unknown")
        }
        self.init(
            application: Product(
                name: sources.applicationName.flatMap { $0.isEmpty ? nil : $0 } ?? "Unknown_name",
                version: (sources.applicationVersion.flatMap(Version.init(string:)) ?? .one).description
            ),
            // Apple's models have a comma, as in `iPhone12,8`.
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
