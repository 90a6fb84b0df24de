import Metrics
import Synchronization

/// The timers, counters and gauges of an observer, each created once.
final class Instruments: Sendable {
    private struct Key: Hashable {
        let name: String
        let labels: [String: String]
    }

    private struct State {
        var hosts: Set<String> = []
        var timers: [Key: Metrics.Timer] = [:]
        var counters: [Key: Counter] = [:]
        var gauges: [Key: Gauge] = [:]
    }

    /// The maximum number of instruments of a kind to keep; others are created for each use.
    private static let capacity = 10_000

    private let factory: any MetricsFactory
    private let maximumHosts: Int
    private let state = Mutex(State())

    init(_ factory: any MetricsFactory, maximumHosts: Int) {
        self.factory = factory
        self.maximumHosts = maximumHosts
    }

    func timer(_ name: String, _ labels: [String: String]) -> Metrics.Timer {
        instrument(\.timers, name, labels) { [factory] in
            Metrics.Timer(label: name, dimensions: $0, factory: factory)
        }
    }

    func counter(_ name: String, _ labels: [String: String]) -> Counter {
        instrument(\.counters, name, labels) { [factory] in Counter(label: name, dimensions: $0, factory: factory) }
    }

    func gauge(_ name: String, _ labels: [String: String]) -> Gauge {
        instrument(\.gauges, name, labels) { [factory] in Gauge(label: name, dimensions: $0, factory: factory) }
    }

    private func instrument<Instrument: Sendable>(
        _ path: WritableKeyPath<State, [Key: Instrument]>,
        _ name: String,
        _ labels: [String: String],
        make: ([(String, String)]) -> Instrument
    ) -> Instrument {
        state.withLock { state in
            var labels = labels
            if let host = labels["server.address"], !state.hosts.contains(host) {
                if state.hosts.count < maximumHosts {
                    state.hosts.insert(host)
                } else {
                    labels["server.address"] = "_OTHER"
                }
            }
            let key = Key(name: name, labels: labels)
            if let known = state[keyPath: path][key] { return known }
            let made = make(labels.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            if state[keyPath: path].count < Self.capacity { state[keyPath: path][key] = made }
            return made
        }
    }
}
