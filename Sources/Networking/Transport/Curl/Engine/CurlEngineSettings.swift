/// What an engine's handles are prepared with.
///
/// An object, because each transfer refers to it, and a copy of a configuration costs a dozen reference counts.
final class CurlEngineSettings {
    let configuration: CurlTransport.Configuration
    /// The resolver entries as libcurl takes them.
    let resolverEntries: [String]
    /// The same as a list, which must outlive each transfer.
    let resolverLines: CurlLines?

    init(_ configuration: CurlTransport.Configuration) {
        self.configuration = configuration
        resolverEntries = configuration.resolverEntries.map(\.line)
        resolverLines = CurlLines(resolverEntries.map(CurlLines.Line.init))
    }
}
