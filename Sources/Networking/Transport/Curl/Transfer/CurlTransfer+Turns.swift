import Glibc

/// The data that one transfer receives before the engine turns to the others.
///
/// libcurl reads from a connection for as long as something comes, up to a hundred times, so a server that sends fast, or in a form that
/// is laborious to read, would have the engine's thread to itself.
struct CurlTurn {
    /// The maximum number of parts of a body that a transfer takes in a turn.
    ///
    /// A part has at most 16 KiB before it is decoded, and 32 KiB after that; both count.
    static let maximumPartCount = 256
    /// The number of octets of a body, after decoding, at which a transfer's turn ends.
    static let maximumSize = 512 << 10
    /// After a turn that took longer, a transfer lets the others go first.
    static let longTurn = Duration.microseconds(500)
    /// The longest time for which a transfer lets the others go first.
    static let longestRest = Duration.milliseconds(10)

    private var number: UInt64 = 0
    private var partCount = 0
    private var size = 0

    /// Counts a part of a body.
    ///
    /// - Returns: Whether the transfer may still take it in the turn of this number.
    mutating func takes(_ count: Int, in number: UInt64) -> Bool {
        if number != self.number { self = Self(number: number) }
        guard partCount < Self.maximumPartCount, size < Self.maximumSize else { return false }
        partCount += 1
        size += count
        return true
    }

    init() {}

    private init(number: UInt64) {
        self.number = number
    }
}

/// The transfers that wait for their next turn.
struct CurlRests {
    private var transfers: [CurlTransfer] = []

    /// The time at which the first of them continues.
    private(set) var earliest: ContinuousClock.Instant?

    mutating func add(_ transfer: CurlTransfer, until time: ContinuousClock.Instant) {
        transfer.restEnd = time
        transfers.append(transfer)
        earliest = earliest.map { min($0, time) } ?? time
    }

    /// Takes those whose time has come.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [CurlTransfer] {
        guard let earliest, earliest <= now else { return [] }
        let due = transfers.filter { !$0.hasEnded && ($0.restEnd ?? now) <= now }
        transfers.removeAll { $0.hasEnded || ($0.restEnd ?? now) <= now }
        self.earliest = transfers.compactMap(\.restEnd).min()
        return due
    }
}

extension CurlTransfer {
    /// Counts a part of the body, and says whether the transfer may take it in this turn; if not, it is offered again in the next one.
    func takesPart(_ count: Int) -> Bool {
        // With HTTP/2 libcurl joins the parts, and a stream that waits stops the whole connection.
        guard stream != nil || turn.takes(count, in: round.number) else {
            isOutOfTurn = true
            round.touch(self)
            return false
        }
        return true
    }

    /// Receives again after a rest; returns libcurl's result.
    func goOn() -> Int32 {
        restEnd = nil
        isOutOfTurn = false
        return hold()
    }

    /// Tells libcurl in which directions it waits; returns its result.
    func hold() -> Int32 {
        // It would receive once more before it waits in one direction alone.
        let waitsForReader = heldBack.contains(.receiving) && !request.hasBody
        let directions: CurlHandle.Directions = restEnd != nil || waitsForReader ? [.receiving, .sending] : heldBack
        return handle?.hold(directions) ?? 0
    }

    /// Sees a record of TLS on an HTTP/2 connection.
    ///
    /// libcurl receives for as long as something comes and nothing of it is a part of a response, so this is the only place from which
    /// such a connection can be ended. Without TLS, it can't be ended.
    func receiveRecord() {
        guard round.countRecord(), let socket = handle?.socket else { return }
        receiveUseless(at: socket)
    }

    /// Sees that nothing came of what the transfer's connection received; if that is too much, ends the connection.
    ///
    /// - Returns: Whether it ended the connection; then ``failure`` says why.
    @discardableResult
    func receiveUseless(at socket: Int32) -> Bool {
        guard !round.useless.accept(at: socket) else { return false }
        failure =
            failure
            ?? NetworkError(
                .invalidResponse,
                "\(origin) has sent more than \(CurlUselessOctets.maximumSize) octets that belong to neither a header nor a body"
            )
        handle?.socketOwner?.end(socket)
        return true
    }
}

/// The octets that come on connections and belong to neither a header line nor a body.
///
/// Handshakes are like that, and what is around the parts of a body. What a server sends without end so that nothing comes of it, as the
/// extensions of a chunk or empty frames, has a limit.
struct CurlUselessOctets {
    /// The number of octets that may come on a connection without a header line or a part of a body among them.
    static let maximumSize: UInt64 = 1 << 20

    /// The number of additional octets that may come from streams that were given up: as many as libcurl lets a server send without asking.
    private static let windowSize: UInt64 = 32 << 20

    /// The sockets of connections on which streams were given up.
    private var socketsWithRests: Set<Int32> = []
    /// The number of octets, by socket, that had come on a connection when nothing came of them for the first time.
    private var starts: [Int32: UInt64] = [:]

    /// Sees that something came of what a connection received.
    mutating func end(at socket: Int32?) {
        guard !starts.isEmpty, let socket else { return }
        starts[socket] = nil
    }

    /// Sees that a stream was given up whose rest may be on its way.
    mutating func expectRest(at socket: Int32?) {
        if let socket { socketsWithRests.insert(socket) }
    }

    /// Sees that nothing came of what a connection received; false if that is too much.
    mutating func accept(at socket: Int32) -> Bool {
        guard let count = Self.receivedCount(at: socket) else { return true }
        // Another connection may have the socket's number by now.
        guard let start = starts[socket], start <= count else {
            starts[socket] = count
            return true
        }
        return count - start <= Self.maximumSize + (socketsWithRests.contains(socket) ? Self.windowSize : 0)
    }

    /// Returns the number of octets that have come on a TCP connection; `nil` if it can't be determined.
    private static func receivedCount(at socket: Int32) -> UInt64? {
        // Linux's struct tcp_info has it as tcpi_bytes_received, since 4.1; the C library's is older.
        let (offset, size) = (128, 136)
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            var length = socklen_t(size)
            let code = unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &length)
            guard code == 0, length == size else { return nil }
            return unsafe buffer.load(fromByteOffset: offset, as: UInt64.self)
        }
    }
}
