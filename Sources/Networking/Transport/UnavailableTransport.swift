/// The transport of a client whose engine can't be used in this process.
struct UnavailableTransport: HTTPTransport {
    /// The reason why the engine can't be used.
    let reason: NetworkError

    /// Makes a transport or, if that fails, one that fails every request with the reason.
    static func unless(_ make: () throws(NetworkError) -> any HTTPTransport) -> any HTTPTransport {
        do throws(NetworkError) {
            return try make()
        } catch {
            var reason = error
            reason.isUnprocessed = true
            return Self(reason: reason)
        }
    }

    func send(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        throw reason
    }
}
