import Glibc

/// The data that a transfer receives before the engine serves the other transfers.
///
/// libcurl reads from a connection up to a hundred times while data arrives. A server that sends
/// fast, or sends data that's expensive to parse, would otherwise monopolize the engine's thread.
struct CurlTurn {
    /// A part has at most 10 KiB before decoding and 32 KiB after; both kinds count.
    static let maximumPartCount = 256
    /// In bytes, after decoding.
    static let maximumSize = 512 << 10
    /// The transfer rests after a longer turn while others go first.
    static let longTurn = Duration.microseconds(500)
    static let longestRest = Duration.milliseconds(10)

    private var number: UInt64 = 0
    private var partCount = 0
    private var size = 0

    /// Returns `false` if a part exceeds the turn with this number; a turn of `length` is that many
    /// times as long as others.
    mutating func takes(_ count: Int, in number: UInt64, length: Int = 1) -> Bool {
        if number != self.number {
            self = Self()
            self.number = number
        }
        guard partCount < Self.maximumPartCount * length, size < Self.maximumSize * length else { return false }
        partCount += 1
        size += count
        return true
    }
}

struct CurlRests {
    private var transfers: [CurlTransfer] = []

    private(set) var earliest: Moment?

    mutating func add(_ transfer: CurlTransfer, until time: Moment) {
        transfer.restEnd = time
        transfers.append(transfer)
        earliest = earliest.map { min($0, time) } ?? time
    }

    mutating func takeDue(at now: Moment) -> [CurlTransfer] {
        guard let earliest, earliest <= now else { return [] }
        let due = transfers.filter { !$0.hasEnded && ($0.restEnd ?? now) <= now }
        transfers.removeAll { $0.hasEnded || ($0.restEnd ?? now) <= now }
        self.earliest = transfers.compactMap(\.restEnd).min()
        return due
    }
}

extension CurlTransfer {
    /// Returns `false` if the part must wait for the next turn.
    func takesPart(_ count: Int) -> Bool {
        // With HTTP/2, libcurl joins the parts, and pausing one stream stops the whole connection.
        // Only decoding can multiply what one read costs.
        let isInTurn =
            stream == nil
            ? turn.takes(count, in: loopState.number)
            : !isDecoded || turn.takes(count, in: loopState.number, length: 16)
        guard isInTurn else {
            isOutOfTurn = true
            loopState.touch(self)
            return false
        }
        return true
    }

    func goOn() -> Int32 {
        restEnd = nil
        paceEnd = nil
        isOutOfTurn = false
        return hold()
    }

    /// Tells libcurl which directions to pause.
    func hold() -> Int32 {
        // libcurl would receive once more if only one direction were paused.
        let waitsForReader = heldBack.contains(.receiving) && !request.hasBody
        let directions: CurlHandle.Directions = restEnd != nil || waitsForReader ? [.receiving, .sending] : heldBack
        if isReceivingPaused, !directions.contains(.receiving), let handle, let socket = handle.socket {
            handle.socketOwner?.unmute(socket)
        }
        isReceivingPaused = directions.contains(.receiving)
        return handle?.hold(directions) ?? 0
    }

    /// Stops watching an HTTP/1 connection for data; returns `false` if it isn't paused.
    func mute(_ socket: Int32) -> Bool {
        guard isReceivingPaused, stream == nil, let sockets = handle?.socketOwner, sockets.isUsed(socket) else {
            return false
        }
        sockets.mute(socket)
        return true
    }

    /// With HTTP/2, libcurl receives as long as data arrives that isn't part of a response, so this
    /// callback is the only opportunity to end such a connection; a connection without TLS can't be
    /// ended.
    func receiveRecord() {
        guard loopState.countRecord(), let socket = handle?.socket else { return }
        receiveUseless(at: socket)
    }

    /// Ends the connection, with a ``failure``, and returns `true` if there's too much useless
    /// data.
    @discardableResult
    func receiveUseless(at socket: Int32) -> Bool {
        guard !loopState.useless.accept(at: socket) else { return false }
        failure =
            failure
            ?? NetworkError(
                .invalidResponse,
                "\(origin) sent more than \(CurlUselessOctets.maximumSize) bytes that belong to neither a header nor a body"
            )
        handle?.socketOwner?.end(socket)
        return true
    }
}

/// The bytes received on connections that belong to neither a header line nor a body.
///
/// TLS handshakes and the framing of a body consist of such bytes. A limit stops servers that send
/// them without end, such as chunk extensions or empty frames.
struct CurlUselessOctets {
    /// For a connection without a header line or a body part among the bytes.
    static let maximumSize: UInt64 = 512 << 10

    /// For abandoned or waiting streams: the size of libcurl's window.
    private static let windowSize: UInt64 = 32 << 20
    private var socketsWithRests: Set<Int32> = []
    /// The bytes received by each socket when its run of useless data began.
    private var starts: [Int32: UInt64] = [:]

    mutating func end(at socket: Int32?) {
        guard !starts.isEmpty, let socket else { return }
        starts[socket] = nil
    }

    /// The data of an abandoned or waiting stream may still arrive.
    mutating func expectRest(at socket: Int32?) {
        if let socket { socketsWithRests.insert(socket) }
    }

    /// Returns `false` if there's too much useless data.
    mutating func accept(at socket: Int32) -> Bool {
        guard let count = Self.receivedCount(at: socket) else { return true }
        // Another connection may have this socket's number in the meantime.
        guard let start = starts[socket], start <= count else {
            starts[socket] = count
            return true
        }
        return count - start <= Self.maximumSize + (socketsWithRests.contains(socket) ? Self.windowSize : 0)
    }

    private static func receivedCount(at socket: Int32) -> UInt64? {
        // tcpi_bytes_received of Linux's struct tcp_info, since 4.1; the C library's declaration is
        // older.
        let (offset, size) = (128, 136)
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            var length = socklen_t(size)
            let code = unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &length)
            guard code == 0, length == size else { return nil }
            return unsafe buffer.load(fromByteOffset: offset, as: UInt64.self)
        }
    }
}

/// Shared by the engine and its transfers; never leaves the engine's thread.
final class CurlLoopState {
    var now = Moment.now
    private(set) var number: UInt64 = 0
    private(set) var usefulCount = 0
    private var recordCount: UInt8 = 0
    /// The bytes received that belong to neither a header nor a body.
    var useless = CurlUselessOctets()
    /// The transfer on whose connection libcurl is acting because of an event, if it's known.
    var acting: CurlTransfer?
    var drains = CurlDrains()
    /// The transfers to process when libcurl returns, without duplicates.
    private(set) var touched: [CurlTransfer] = []

    func begin() {
        now = .now
        number &+= 1
    }

    /// Returns whether it's time to check the received data.
    func countRecord() -> Bool {
        recordCount &+= 1
        return recordCount.isMultiple(of: 64)
    }

    func receiveUseful(at socket: Int32?) {
        usefulCount &+= 1
        useless.end(at: socket)
    }

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
