import ClientLogging
import Logging
import Networking

/// The sample in Docs/Observability.md.
func logs() -> NetworkClient {
    let logging = LoggingObserver(Logger(label: "http"))
    let client = NetworkClient(options: .init(observers: [logging]))
    return client
}
