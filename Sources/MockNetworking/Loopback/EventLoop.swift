import Foundation
import Glibc
import Networking
import OpenSSLCrypto
import SystemIO

/// An event loop that serves all connections of a server on one thread without blocking.
///
/// Everything here belongs to the loop's thread, except for the mailbox and the state. Tasks run
/// user closures and post the bytes to write.
final class EventLoop {
    private static let listenerUser: UInt32 = 0

    /// The maximum time for the peer to close its side, too.
    private static let lingering = Duration.seconds(1)
    private static let acceptPause = Duration.milliseconds(10)

    private let listener: Socket
    private let poller: EventPoller
    private let mailbox: Mailbox<LoopCommand>
    private let state: Watched<ServerState>
    private let configuration: LoopbackServer.Configuration
    private let tls: TLSServerContext?

    private var connections: [Int: Connection] = [:]
    private var tasks: [ExchangeID: Task<Void, Never>] = [:]
    private var nextExchange: UInt64 = 0
    private var lingerers: ArraySlice<(deadline: ContinuousClock.Instant, connection: Int)> = []
    private var acceptsAgain: ContinuousClock.Instant?
    private var unfinished: Set<Int> = []
    private var events: [EventPoller.Event] = []
    private var commands: [LoopCommand] = []
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)
    private var isStopped = false

    init(
        listener: consuming Socket,
        mailbox: Mailbox<LoopCommand>,
        state: Watched<ServerState>,
        configuration: LoopbackServer.Configuration,
        tls: TLSServerContext?
    ) throws(SystemFailure) {
        poller = try EventPoller()
        guard poller.watch(listener.number, of: Self.listenerUser, for: .readable) else {
            throw SystemFailure("epoll_ctl")
        }
        mailbox.attach(poller)
        self.listener = listener
        self.mailbox = mailbox
        self.state = state
        self.configuration = configuration
        self.tls = tls
    }

    func run() {
        while !isStopped {
            poller.wait(milliseconds: mailbox.prepareToSleep() ? timeout() : 0, &events)
            for event in events {
                if event.user == Self.listenerUser {
                    acceptConnections()
                } else if let connection = connections[Int(event.user)] {
                    connection.note(event.conditions)
                    serve(connection)
                    // Counted last, so that a task waiting for the end sees everything that arrived
                    // before it.
                    if connection.hasHungUp { countAsEnded(connection) }
                }
            }
            mailbox.collect(&commands)
            for command in commands { obey(command) }
            let turns = unfinished
            unfinished = []
            for number in turns {
                if let connection = connections[number] { serve(connection) }
            }
            endLingering()
        }
        for task in tasks.values { task.cancel() }
        for connection in Array(connections.values) { remove(connection) }
        for case .send(_, _, _, let waiter?) in mailbox.close() {
            waiter.resume(throwing: MockError.connectionEnded)
        }
    }

    private func acceptConnections() {
        // The poller reports the rest again at once, and existing connections get a turn in
        // between.
        for _ in 0..<64 {
            do {
                guard let socket = try listener.accept() else { return }
                let wire = try Wire(socket, tls)
                let number = state.update { state in
                    state.acceptedConnections += 1
                    state.openConnections += 1
                    return state.acceptedConnections
                }
                let connection = Connection(number: number, wire: wire, configuration: configuration)
                publish(connection)
                connections[number] = connection
                watch(connection)
            } catch {
                // Out of descriptors or memory. Clients wait in the kernel's queue until some are
                // free.
                poller.watch(listener.number, for: [])
                acceptsAgain = .now + Self.acceptPause
                return
            }
        }
    }

    private func obey(_ command: LoopCommand) {
        switch command {
        case .stop: isStopped = true
        case .ended(let id): tasks[id] = nil
        case .send(let id, let bytes, let ending, let waiter):
            guard let connection = connections[id.connection], connection.isAnswering(id) else {
                waiter?.resume(throwing: MockError.connectionEnded)
                return
            }
            connection.enqueue(bytes, ending: ending, waiter)
            serve(connection)
        }
    }

    private func watch(_ connection: Connection) {
        let interest = connection.interest
        guard interest != connection.watched else { return }
        connection.watched = interest
        let user = UInt32(truncatingIfNeeded: connection.number)
        if !poller.watch(connection.descriptorNumber, of: user, for: interest) { remove(connection) }
    }

    private func serve(_ connection: Connection) {
        while true {
            let demand = connection.serve(scratch: &scratch)
            publish(connection)
            switch demand {
            case .nothing:
                return watch(connection)
            case .turnLater:
                unfinished.insert(connection.number)
                return watch(connection)
            case .remove:
                remove(connection)
                return
            case .linger:
                countAsEnded(connection)
                lingerers.append((.now + Self.lingering, connection.number))
            case .answer(let message):
                answer(message, on: connection)
            case .refuse(let status):
                connection.enqueue(ResponseHead.farewell(status), ending: .close)
            case .report(let fault):
                let rejection = LoopbackServer.Rejection(
                    connection: connection.number,
                    status: fault.status,
                    reason: fault.reason
                )
                state.update { $0.rejections.append(rejection) }
                connection.enqueue(ResponseHead.farewell(fault.status, fault.reason), ending: .close)
            }
        }
    }

    private func answer(_ message: RequestParser.Message, on connection: Connection) {
        nextExchange += 1
        let id = ExchangeID(connection: connection.number, number: nextExchange)
        let request = LoopbackRequest(
            message,
            connection: connection.number,
            arrival: configuration.time.now(),
            clientCertificateDER: connection.record.clientCertificateDER
        )
        let records = configuration.recordsRequests
        let handler = state.update { state in
            if records { state.requests.append(request) }
            state.requestCount += 1
            state.runningHandlers += 1
            return state.routes.handler(for: request)
        }
        let exchange = Exchange(
            id: id,
            request: request,
            keepsAlive: message.head.keepsAlive,
            mailbox: mailbox,
            state: state,
            time: configuration.time
        )
        connection.beginAnswer(id)
        tasks[id] = Task { await exchange.run(handler) }
    }

    private func remove(_ connection: Connection) {
        connections[connection.number] = nil
        countAsEnded(connection)
    }

    private func countAsEnded(_ connection: Connection) {
        guard connection.record.isOpen else { return }
        connection.record.isOpen = false
        let record = configuration.recordsConnections ? connection.takeNews() : nil
        state.update { state in
            if let record { state.connections[connection.number] = record }
            state.openConnections -= 1
        }
    }

    private func publish(_ connection: Connection) {
        guard configuration.recordsConnections, let record = connection.takeNews() else { return }
        state.update { $0.connections[connection.number] = record }
    }

    private func timeout() -> Int32 {
        guard unfinished.isEmpty else { return 0 }
        guard let next = [lingerers.first?.deadline, acceptsAgain].compactMap({ $0 }).min() else { return -1 }
        let wait = next - .now
        return wait <= .zero ? 0 : Int32(clamping: wait / .milliseconds(1)).next
    }

    private func endLingering() {
        guard !lingerers.isEmpty || acceptsAgain != nil else { return }
        let now = ContinuousClock.now
        while let (deadline, number) = lingerers.first, deadline <= now {
            lingerers.removeFirst()
            if let connection = connections[number] { remove(connection) }
        }
        if let time = acceptsAgain, time <= now {
            acceptsAgain = nil
            if !poller.watch(listener.number, of: Self.listenerUser, for: .readable) {
                acceptsAgain = now + Self.acceptPause
            }
        }
    }
}

enum LoopCommand: Sendable {
    /// Bytes of a response, with an ending if they are the last ones.
    case send(ExchangeID, Data, ending: ResponseEnding?, CheckedContinuation<Void, any Error>?)
    case ended(ExchangeID)
    case stop
}

struct ExchangeID: Hashable, Sendable {
    let connection: Int
    let number: UInt64
}

enum ResponseEnding: Sendable {
    case keepAlive
    case close
    /// Like `close`, but without the close_notify in TLS.
    case truncate
    case reset
    case silence
}

extension Mailbox<LoopCommand> {
    func send(_ id: ExchangeID, _ bytes: Data) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            if !post(.send(id, bytes, ending: nil, continuation)) {
                continuation.resume(throwing: MockError.connectionEnded)
            }
        }
    }
}

extension MockError {
    static var connectionEnded: Self {
        Self(.connectionClosed, "the connection ended before everything was written")
    }
}
