public import Foundation

extension NetworkClient {
    /// Creates a libcurl client with a TLS configuration.
    ///
    /// The client never falls back to `URLSession`, which can't enforce the configuration.
    ///
    /// - Parameters:
    ///   - baseURL: The URL that the verbs' paths are below. The default is `nil`.
    ///   - tls: The trusted servers and the client's own certificate.
    ///   - interceptors: The interceptors, in the order they run.
    ///   - options: The defaults of the client.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if this process can't
    ///   enforce the configuration: libcurl is missing, too old, or doesn't use the same OpenSSL as
    ///   the process.
    public convenience init(
        baseURL: URL? = nil,
        tls: TLSConfiguration,
        interceptors: [any Interceptor] = [],
        options: Options = Options()
    ) throws(NetworkError) {
        self.init(
            baseURL: baseURL,
            transport: try CurlTransport(configuration: CurlTransport.Configuration(tls: tls)),
            interceptors: interceptors,
            options: options
        )
    }
}
