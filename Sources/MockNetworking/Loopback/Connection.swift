import Foundation
import Networking
import OpenSSLCrypto
import SystemIO

/// An accepted connection, which belongs to the event loop's thread.
final class Connection {
    enum Demand {
        case nothing
        /// More input is available, but it's another connection's turn.
        case turnLater
        case answer(RequestParser.Message)
        case report(RequestFault)
        case refuse(Int)
        case linger
        case remove
    }

    private enum State {
        case reading
        case answering(UInt64)
        case ending(ResponseEnding)
        case silent
        case lingering
    }

    let number: Int
    private let wire: Wire
    private let continuePolicy: LoopbackServer.ContinuePolicy
    private var parser: RequestParser
    private var input: ArraySlice<UInt8> = []
    private var output: ArraySlice<Data> = []
    private var flushWaiters: [CheckedContinuation<Void, any Error>] = []
    private var state = State.reading
    private(set) var hasHungUp = false
    /// The conditions that the poller currently watches.
    var watched: EventPoller.Condition = []
    private var isBroken = false
    var record: LoopbackServer.ConnectionRecord {
        didSet { hasNews = true }
    }
    private var hasNews = true

    init(number: Int, wire: Wire, configuration: LoopbackServer.Configuration) {
        self.number = number
        self.wire = wire
        record = LoopbackServer.ConnectionRecord(number: number)
        continuePolicy = configuration.continuePolicy
        parser = RequestParser(limits: configuration.parserLimits)
    }

    deinit {
        for waiter in flushWaiters { waiter.resume(throwing: MockError.connectionEnded) }
    }

    var descriptorNumber: Int32 { wire.number }

    func note(_ conditions: EventPoller.Condition) {
        hasHungUp = hasHungUp || conditions.contains(.hangUp)
        isBroken = isBroken || conditions.contains(.broken)
    }

    var interest: EventPoller.Condition {
        var interest: EventPoller.Condition = hasHungUp ? .broken : [.broken, .hangUp]
        if !output.isEmpty || !wire.isFlushed { interest.insert(.writable) }
        switch state {
        case .reading, .lingering: interest.insert(.readable)
        case .answering, .ending, .silent: break
        }
        return interest
    }

    func takeNews() -> LoopbackServer.ConnectionRecord? {
        defer { hasNews = false }
        return hasNews ? record : nil
    }

    func beginAnswer(_ id: ExchangeID) { state = .answering(id.number) }

    func isAnswering(_ id: ExchangeID) -> Bool {
        if case .answering(let number) = state { number == id.number } else { false }
    }

    func enqueue(_ bytes: Data, ending: ResponseEnding?, _ waiter: CheckedContinuation<Void, any Error>? = nil) {
        if !bytes.isEmpty { output.append(bytes) }
        if let waiter { flushWaiters.append(waiter) }
        if let ending { state = .ending(ending) }
    }

    /// Does all work that's possible without blocking, and returns the next action for the event
    /// loop.
    func serve(scratch: inout [UInt8]) -> Demand {
        guard flush() else { return .remove }
        var turns = 16
        while true {
            switch state {
            case .answering:
                return isBroken ? .remove : .nothing
            case .silent:
                return hasHungUp ? .remove : .nothing
            case .ending(let ending):
                guard output.isEmpty, wire.isFlushed else { return .nothing }
                if let demand = end(ending) { return demand }
            case .lingering:
                switch wire.discard(into: &scratch) {
                case .transferred: break
                case .wouldBlock: return .nothing
                case .ended, .failed: return .remove
                }
                turns -= 1
                if turns == 0 { return .turnLater }
            case .reading:
                if let demand = understand() { return demand }
                let outcome = wire.receive(into: &scratch)
                noteHandshake()
                switch outcome {
                case .transferred(let count):
                    input.append(contentsOf: scratch[..<count])
                    record.receivedOctetCount += count
                case .wouldBlock: return .nothing
                case .failed where wire.isRefused: state = .ending(.close)
                case .ended, .failed: return .remove
                }
                turns -= 1
                if turns == 0 { return .turnLater }
            }
        }
    }

    private func flush() -> Bool {
        while let bytes = output.first {
            switch wire.send(bytes) {
            case .transferred(let count) where count == bytes.count: output.removeFirst()
            case .transferred(let count): output[output.startIndex] = bytes.dropFirst(count)
            case .wouldBlock: return true
            case .ended, .failed: return false
            }
        }
        output = []
        switch wire.flush() {
        case .transferred: break
        case .wouldBlock: return true
        case .ended, .failed: return false
        }
        for waiter in flushWaiters { waiter.resume() }
        flushWaiters = []
        return true
    }

    private func noteHandshake() {
        guard wire.isSecure, record.tlsVersion == nil, record.handshakeFailure == nil else { return }
        wire.describeSession(in: &record)
        if let failure = wire.handshakeFailure { record.handshakeFailure = failure }
    }

    private func end(_ ending: ResponseEnding) -> Demand? {
        switch ending {
        case .keepAlive:
            state = .reading
            return nil
        case .silence:
            state = .silent
            return nil
        case .reset:
            wire.resetWhenClosed()
            return .remove
        case .close, .truncate:
            let isOrderly = if case .close = ending { true } else { false }
            switch wire.finishSending(isOrderly: isOrderly) {
            case .wouldBlock: return .nothing
            case .ended, .failed: return .remove
            case .transferred: break
            }
            // Closing with unread input would reset the connection, and the peer could lose the
            // response.
            state = .lingering
            return .linger
        }
    }

    private func understand() -> Demand? {
        do {
            while !input.isEmpty {
                switch try parser.consume(&input) {
                case .needsInput:
                    input = []
                case .message(let message):
                    return .answer(message)
                case .expectsContinue:
                    switch continuePolicy {
                    case .answer: enqueue(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8), ending: nil)
                    case .ignore: break
                    case .refuse(let status): return .refuse(status)
                    }
                    guard flush() else { return .remove }
                }
            }
            return nil
        } catch {
            return .report(error)
        }
    }
}

final class Wire {
    /// The size of a TLS record; with a slow peer, larger parts would only wait in memory.
    private static let pieceSize = 16 << 10

    private let socket: Socket
    private let tls: TLSServerConnection?
    private var pending = Data()
    private(set) var handshakeFailure: String?
    /// A Boolean value that indicates whether the peer violated TLS.
    private(set) var isRefused = false

    init(_ socket: consuming Socket, _ context: TLSServerContext?) throws {
        self.socket = socket
        tls = try context.map { try TLSServerConnection($0) }
    }

    var number: Int32 { socket.number }
    var isSecure: Bool { tls != nil }
    var isFlushed: Bool { pending.isEmpty }

    func describeSession(in record: inout LoopbackServer.ConnectionRecord) { tls?.describeSession(in: &record) }

    func receive(into buffer: inout [UInt8]) -> Socket.Outcome {
        guard let tls else { return socket.receive(into: &buffer) }
        while true {
            let outcome = tls.read(into: &buffer)
            // Part of a handshake, a ticket or an alert. The next `flush()` sends the rest.
            if case .failed = flush() { return .failed }
            switch outcome {
            case .transferred(let count): return .transferred(count)
            case .ended: return ended(tls)
            case .failed(let error):
                if !tls.isHandshakeFinished { handshakeFailure = error.description }
                isRefused = true
                return .failed
            case .needsInput: break
            }
            switch socket.receive(into: &buffer) {
            case .transferred(let count): buffer.withBytes { tls.receive($0.extracting(0..<count)) }
            case .ended: return ended(tls)
            case let other: return other
            }
        }
    }

    func send(_ bytes: Data) -> Socket.Outcome {
        guard let tls else { return socket.send(bytes.bytes) }
        switch flush() {
        case .transferred: break
        case let other: return other
        }
        switch tls.write(bytes.prefix(Self.pieceSize).bytes) {
        case .transferred(let count):
            if case .failed = flush() { return .failed }
            return .transferred(count)
        case .needsInput: return .wouldBlock
        case .ended, .failed: return .failed
        }
    }

    func flush() -> Socket.Outcome {
        if let tls { pending.append(contentsOf: tls.takeCiphertext()) }
        while !pending.isEmpty {
            switch socket.send(pending.bytes) {
            case .transferred(let count): pending = count == pending.count ? Data() : pending.dropFirst(count)
            case let other: return other
            }
        }
        return .transferred(0)
    }

    /// Shuts down the sending side, also the TLS session if orderly; call it again after
    /// `wouldBlock`.
    func finishSending(isOrderly: Bool) -> Socket.Outcome {
        if isOrderly { tls?.finish() }
        switch flush() {
        case .transferred: socket.finishSending()
        case let other: return other
        }
        return .transferred(0)
    }

    func discard(into buffer: inout [UInt8]) -> Socket.Outcome { socket.receive(into: &buffer) }

    func resetWhenClosed() { socket.resetWhenClosed() }

    private func ended(_ tls: TLSServerConnection) -> Socket.Outcome {
        if !tls.isHandshakeFinished {
            handshakeFailure = "the client closed the connection before the handshake was complete"
        }
        return .ended
    }
}
