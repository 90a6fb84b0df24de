import ClientTracing
import Networking

/// The sample in Docs/Observability.md.
func traces() -> NetworkClient {
    let tracing = TracingObserver()
    let client = NetworkClient(options: .init(observers: [tracing]))
    return client
}
