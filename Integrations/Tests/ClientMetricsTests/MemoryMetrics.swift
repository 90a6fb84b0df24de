import CoreMetrics
import Synchronization

/// A metrics backend that keeps the values by name and dimensions.
///
/// As some backends do, it rejects a second set of dimension names for a metric.
final class MemoryMetrics: MetricsFactory {
    final class Instrument: CounterHandler, TimerHandler, RecorderHandler, MeterHandler {
        let label: String
        let dimensions: [(String, String)]
        private let recorded = Mutex<[Double]>([])

        init(_ label: String, _ dimensions: [(String, String)]) {
            self.label = label
            self.dimensions = dimensions
        }

        var values: [Double] { recorded.withLock { $0 } }
        var total: Double { values.reduce(0, +) }

        private func add(_ value: Double) { recorded.withLock { $0.append(value) } }

        func increment(by amount: Int64) { add(Double(amount)) }
        func increment(by amount: Double) { add(amount) }
        func decrement(by amount: Double) { add(-amount) }
        func reset() {}
        func record(_ value: Int64) { add(Double(value)) }
        func record(_ value: Double) { add(value) }
        func set(_ value: Int64) { add(Double(value)) }
        func set(_ value: Double) { add(value) }
        func recordNanoseconds(_ duration: Int64) { add(Double(duration)) }
    }

    private let made = Mutex<[Instrument]>([])

    var instruments: [Instrument] { made.withLock { $0 } }

    /// The names of metrics that were made with different sets of dimensions.
    var inconsistent: [String] {
        Dictionary(grouping: instruments, by: \.label)
            .filter { Set($0.value.map { $0.dimensions.map(\.0) }).count > 1 }
            .map(\.key)
    }

    /// Returns the sum of a metric's values with these dimensions among others.
    func total(_ label: String, _ dimensions: [String: String] = [:]) -> Double {
        instruments.filter { instrument in
            instrument.label == label
                && dimensions.allSatisfy { wanted in instrument.dimensions.contains { $0 == (wanted.key, wanted.value) }
                }
        }.map(\.total).reduce(0, +)
    }

    /// Returns the number of a metric's values with these dimensions among others.
    func count(_ label: String, _ dimensions: [String: String] = [:]) -> Int {
        instruments.filter { instrument in
            instrument.label == label
                && dimensions.allSatisfy { wanted in instrument.dimensions.contains { $0 == (wanted.key, wanted.value) }
                }
        }.map(\.values.count).reduce(0, +)
    }

    private func make(_ label: String, _ dimensions: [(String, String)]) -> Instrument {
        let instrument = Instrument(label, dimensions)
        made.withLock { $0.append(instrument) }
        return instrument
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { make(label, dimensions) }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { make(label, dimensions) }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        make(label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { make(label, dimensions) }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}
