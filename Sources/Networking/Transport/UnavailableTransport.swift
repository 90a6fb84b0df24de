/// A transport that fails every request, for a client whose engine isn't available in this process.
struct UnavailableTransport: HTTPTransport {
    /// The reason that the engine isn't available.
    let reason: NetworkError

    /// Returns a transport or, if that fails, one that fails every request with the error.
    static func unless(_ make: () throws(NetworkError) -> any HTTPTransport) -> any HTTPTransport {
        do throws(NetworkError) {
            return try make()
        } catch {
            var reason = error
            reason.isUnprocessed = true
            return Self(reason: reason)
        }
    }

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        throw reason
    }
}
