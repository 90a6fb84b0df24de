/// The properties of a transfer that determine a handle's settings, besides the configuration.
///
/// Transfers with equal keys can reuse a handle's settings. An unusual transfer has no key.
struct CurlSettingsKey: Equatable {
    /// The form of a message.
    enum Shape: Equatable {
        case get
        /// A request with a body that libcurl copies.
        case held(HTTPMethod)
    }

    let isSecure: Bool
    /// A Boolean value that indicates whether the host is local, so the environment's proxy isn't
    /// used.
    let isLoopback: Bool
    /// A Boolean value that indicates whether the response's body is streamed.
    let isStreamed: Bool
    let shape: Shape

    init?(_ transfer: CurlTransfer) {
        let request = transfer.request
        guard !transfer.needsNewConnection, transfer.observation == nil, request.proxyLines == nil,
            !request.body.isReadWhileSent, !transfer.exchange.limits.hasRates
        else { return nil }
        if request.hasBody {
            shape = .held(request.method)
        } else if request.method == .get {
            shape = .get
        } else {
            return nil
        }
        if case .parts = transfer.submission.recipient { isStreamed = true } else { isStreamed = false }
        isSecure = request.origin.scheme == "https"
        isLoopback = request.origin.isLoopback
    }
}
