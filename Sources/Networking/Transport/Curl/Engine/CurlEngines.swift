/// The engines of a transport.
///
/// A request goes to the first engine that isn't busy, so that a light load uses a single thread
/// and few connections. If all are busy, it goes to the one with the fewest requests.
struct CurlEngines: Sendable {
    let admission: CurlAdmission
    private let engines: [CurlEngine]
    private let usesTurns: Bool

    init(configuration: CurlTransport.Configuration) {
        let admission = CurlAdmission(configuration)
        let watchdog = CurlWatchdog(admission)
        self.admission = admission
        usesTurns = configuration.usesEnginesInTurn
        engines = (0..<configuration.engineCount).map {
            CurlEngine($0, configuration: configuration, admission: admission, watchdog: watchdog)
        }
    }

    /// Returns the engine for the next request.
    func next() -> CurlEngine {
        if usesTurns { return engines[admission.nextTurn() % engines.count] }
        return engines.first { $0.load.hasRoom } ?? engines.min { $0.load.requests < $1.load.requests } ?? engines[0]
    }

    /// Stops the engines after their requests, or after `patience`, and waits for their threads.
    func close(after patience: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for engine in engines { group.addTask { await engine.close(after: patience) } }
        }
    }

    /// The number of running threads.
    var runningCount: Int { engines.count { $0.isRunning } }
}
