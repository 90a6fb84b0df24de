/// What a handle's settings depend on besides the engine's configuration.
///
/// Transfers of the same profile use a handle one after the other without setting it up anew. An unusual transfer has none.
struct CurlSettingsKey: Equatable {
    /// How a message is sent.
    enum Shape: Equatable {
        case get
        /// With a body that libcurl has at hand.
        case held(HTTPMethod)
    }

    let isSecure: Bool
    /// Whether the host is this machine, to which the environment's proxy does not apply.
    let isLoopback: Bool
    /// Whether the response's body is received while it is read.
    let isStreamed: Bool
    let shape: Shape

    init?(_ transfer: CurlTransfer) {
        let request = transfer.request
        guard !transfer.needsNewConnection, transfer.observation == nil, request.proxyLines == nil,
            !request.body.isReadWhileSent
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
