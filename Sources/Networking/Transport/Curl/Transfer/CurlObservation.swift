import CCurl
internal import OpenSSLCrypto

/// An observer's view of a request, used on the engine's thread if the request has an observer.
final class CurlObservation {
    private let exchange: CurlExchange
    private let tell: @Sendable (HTTPTransportEvent) -> Void
    private var started: ContinuousClock.Instant?
    /// The time at which libcurl started its timers, which restart after a name lookup.
    private var driven: ContinuousClock.Instant?
    private var hasResolved = false
    private var connectionCount = 0
    private var sentCount = 0
    private var receivedCount = 0

    init(_ exchange: CurlExchange, tell: @escaping @Sendable (HTTPTransportEvent) -> Void) {
        self.exchange = exchange
        self.tell = tell
    }

    /// Records that the request left the queue, is repeated, or continues after a name lookup.
    func drive(at now: ContinuousClock.Instant) {
        driven = now
        guard started == nil else { return }
        started = now
        tell(.started)
    }

    /// Records that a socket is about to be connected, which implies a resolved address.
    func resolve() {
        guard !hasResolved else { return }
        hasResolved = true
        tell(.resolved)
    }

    /// Records that the request is about to be sent on a connection, which may be new.
    func connect(_ handle: CurlHandle?) {
        let count = handle?.number(CCURL_INFO_NUM_CONNECTS) ?? 0
        guard count > connectionCount else { return }
        connectionCount = count
        tell(.connected)
        if exchange.request.origin.scheme == "https" { tell(.secured) }
    }

    func send(_ count: Int) {
        guard count > sentCount else { return }
        sentCount = count
        tell(.bodySent(count))
    }

    func receiveHead(status: Int, _ handle: CurlHandle?) {
        // libcurl sends a body that it has copied without calling back.
        send(handle?.number(CCURL_INFO_SIZE_UPLOAD_T) ?? 0)
        tell(.headReceived(status: status))
    }

    func receive(_ count: Int) {
        guard count > receivedCount else { return }
        receivedCount = count
        tell(.bodyReceived(count))
    }

    /// Reports that the request ended.
    func end(_ handle: CurlHandle?, version: String, tlsVersion: TLSProtocolVersion?) {
        var metrics = metrics(handle)
        metrics.version = version
        metrics.tlsVersion = tlsVersion.map { TLSVersion($0) }
        tell(.finished(metrics))
    }

    private func metrics(_ handle: CurlHandle?) -> HTTPTransportMetrics {
        var metrics = HTTPTransportMetrics(totalTime: .now - exchange.begin)
        guard let started, let driven, let handle else { return metrics }
        let offset = driven - exchange.begin
        /// A phase that didn't happen has no time, or the time of an earlier phase.
        func time(_ info: ccurl_info) -> Duration? {
            let microseconds = handle.number(info)
            return microseconds > 0 ? offset + .microseconds(Int(microseconds)) : nil
        }
        metrics.queueTime = started - exchange.begin
        let isNew = handle.number(CCURL_INFO_NUM_CONNECTS) > 0
        if isNew {
            metrics.nameLookupTime = time(CCURL_INFO_NAMELOOKUP_TIME_T)
            metrics.connectTime = time(CCURL_INFO_CONNECT_TIME_T)
            metrics.tlsTime = time(CCURL_INFO_APPCONNECT_TIME_T)
        }
        metrics.firstByteTime = time(CCURL_INFO_STARTTRANSFER_TIME_T)
        metrics.remoteAddress = handle.peerAddress
        // A missing peer address means that no connection was made.
        metrics.isConnectionReused = metrics.remoteAddress == nil ? nil : !isNew
        metrics.bodyBytesSent = max(sentCount, handle.number(CCURL_INFO_SIZE_UPLOAD_T))
        metrics.bodyBytesReceived = handle.number(CCURL_INFO_SIZE_DOWNLOAD_T)
        return metrics
    }
}
