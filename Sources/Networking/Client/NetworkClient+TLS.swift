extension NetworkClient {
    /// Makes a client on libcurl whose servers and whose own identity are as a TLS configuration says.
    ///
    /// There is no falling back to `URLSession`, which would not keep to it.
    ///
    /// - Parameters:
    ///   - tls: Which servers are trusted, and who this process is to them.
    ///   - interceptors: What hooks into every attempt, in order.
    ///   - authenticationProvider: Who has the token that
    ///     ``makeAuthorizedRequest(exchangeRequest:scope:request:)`` exchanges.
    ///   - options: What the client does by default.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if the configuration can't be held to in this process:
    ///   libcurl is missing or too old, or does not use the OpenSSL that this process uses.
    public convenience init(
        tls: TLSConfiguration,
        interceptors: [any RequestInterceptor] = [],
        authenticationProvider: (any AuthenticationProvider)? = nil,
        options: Options = Options()
    ) throws(NetworkError) {
        self.init(
            transport: try CurlTransport(configuration: CurlTransport.Configuration(tls: tls)),
            interceptors: interceptors,
            authenticationProvider: authenticationProvider,
            options: options
        )
    }
}
