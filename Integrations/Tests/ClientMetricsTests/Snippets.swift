import ClientMetrics
import Networking

/// The samples in Docs/Observability.md.
func measures() -> NetworkClient {
    let metrics = MetricsObserver()
    let client = NetworkClient(options: .init(observers: [metrics]))
    return client
}

func measures(_ transport: CurlTransport, _ metrics: MetricsObserver) async {
    for await state in transport.poolStates(every: .seconds(15)) {
        metrics.record(state)
    }
}
