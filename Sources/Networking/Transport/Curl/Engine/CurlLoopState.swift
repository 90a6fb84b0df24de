/// What the engine and its transfers share while libcurl works; it never leaves the engine's thread.
final class CurlLoopState {
    /// The time, as of when libcurl was last called.
    var now = ContinuousClock.now
    /// The round's number.
    private(set) var number: UInt64 = 0
    /// The number of header lines and parts of bodies that have come.
    private(set) var usefulCount = 0
    private var recordCount: UInt8 = 0
    /// The octets that came and belonged to neither.
    var useless = CurlUselessOctets()
    /// The last streams of connections on which no more will be answered.
    var drains = CurlDrains()
    /// The transfers to look at when libcurl has returned, each once.
    private(set) var touched: [CurlTransfer] = []

    /// Begins the next round.
    func begin() {
        now = .now
        number &+= 1
    }

    /// Counts a record of TLS, and says whether it is time to look at what has come.
    func countRecord() -> Bool {
        recordCount &+= 1
        return recordCount.isMultiple(of: 64)
    }

    /// Sees that a header line or a part of a body came.
    func receiveUseful(at socket: Int32?) {
        usefulCount &+= 1
        useless.end(at: socket)
    }

    /// Has a transfer looked at.
    func touch(_ transfer: CurlTransfer) {
        guard !transfer.isTouched else { return }
        transfer.isTouched = true
        touched.append(transfer)
    }

    /// Takes the transfers to look at.
    func takeTouched() -> [CurlTransfer] {
        for transfer in touched { transfer.isTouched = false }
        defer { touched = [] }
        return touched
    }
}
