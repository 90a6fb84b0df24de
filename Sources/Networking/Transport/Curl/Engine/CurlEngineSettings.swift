/// The settings that an engine prepares its handles with.
///
/// It's a class because copying a configuration for each transfer costs a dozen reference counts.
final class CurlEngineSettings {
    let configuration: CurlTransport.Configuration
    /// The resolver entries in libcurl's notation.
    let resolverEntries: [String]
    /// The resolver entries as a list, which must outlive each transfer.
    let resolverLines: CurlLines?

    init(_ configuration: CurlTransport.Configuration) {
        self.configuration = configuration
        resolverEntries = configuration.resolverEntries.map(\.line)
        resolverLines = CurlLines(resolverEntries)
    }
}
