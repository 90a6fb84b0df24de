/// The state shared by the engine and its transfers, which never leaves the engine's thread.
final class CurlLoopState {
    /// The time at which the current iteration of the loop began.
    var now = ContinuousClock.now
    /// The number of the current iteration.
    private(set) var number: UInt64 = 0
    /// The number of header lines and body parts received.
    private(set) var usefulCount = 0
    private var recordCount: UInt8 = 0
    /// The bytes received that belong to neither a header nor a body.
    var useless = CurlUselessOctets()
    /// The transfer on whose connection libcurl is acting because of an event, if it's known.
    var acting: CurlTransfer?
    /// The last stream IDs of connections that are shutting down.
    var drains = CurlDrains()
    /// The transfers to process when libcurl returns, without duplicates.
    private(set) var touched: [CurlTransfer] = []

    func begin() {
        now = .now
        number &+= 1
    }

    /// Counts a TLS record and returns whether it's time to check the received data.
    func countRecord() -> Bool {
        recordCount &+= 1
        return recordCount.isMultiple(of: 64)
    }

    /// Records that a header line or a part of a body was received.
    func receiveUseful(at socket: Int32?) {
        usefulCount &+= 1
        useless.end(at: socket)
    }

    /// Schedules a transfer for processing.
    func touch(_ transfer: CurlTransfer) {
        guard !transfer.isTouched else { return }
        transfer.isTouched = true
        touched.append(transfer)
    }

    func takeTouched() -> [CurlTransfer] {
        for transfer in touched { transfer.isTouched = false }
        defer { touched = [] }
        return touched
    }
}
