/// What an engine's handles are prepared with.
struct CurlPreparation {
    let configuration: CurlTransport.Configuration
    /// The resolver entries, which must outlive each transfer.
    let resolverLines: CurlLines?

    init(_ configuration: CurlTransport.Configuration) {
        self.configuration = configuration
        let entries = configuration.resolverEntries
        resolverLines = entries.isEmpty ? nil : CurlLines(entries.map(\.line))
    }
}
