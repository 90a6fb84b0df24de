/// The engine: it owns all transfers and runs on a thread of its own.
///
/// Each round looks at the mail, lets libcurl work, reports what is finished and sleeps until something happens. Only
/// this thread reports outcomes, so each exchange has exactly one.
final class CurlLoop {
    private let mailbox: CurlMailbox
    private let configuration: CurlTransport.Configuration
    private var multi: CurlMulti?
    private var transfers: [UInt64: CurlTransfer] = [:]
    private var queue: ExchangeQueue
    private var deadlines = DeadlineQueue()
    private var unusedHandles: [CurlHandle] = []
    private var idleSince: ContinuousClock.Instant?

    init(mailbox: CurlMailbox, configuration: CurlTransport.Configuration) {
        self.mailbox = mailbox
        self.configuration = configuration
        queue = ExchangeQueue(
            maximumPerOrigin: configuration.maximumConnectionsPerHost,
            maximum: configuration.maximumConnections
        )
    }

    /// Works until the mailbox is closed.
    func run() {
        while true {
            let mail = mailbox.collect()
            for submission in mail.submissions { accept(submission) }
            for identifier in mail.cancellations { cancel(identifier) }
            if mail.isClosing { break }
            admit()
            work()
        }
        for transfer in Array(transfers.values) { end(transfer, .failure(.transportClosed)) }
        unusedHandles = []
        multi = nil
        mailbox.stopped()
    }

    private func accept(_ submission: CurlSubmission) {
        let exchange = submission.exchange
        guard !exchange.isCancelled else { return submission.end(.failure(.cancelledExchange)) }
        if let deadline = exchange.limits.deadline {
            guard deadline > .now else { return submission.end(.failure(.missedDeadline(exchange.request.origin))) }
            deadlines.insert(exchange.identifier, deadline: deadline) { transfers[$0] != nil }
        }
        transfers[exchange.identifier] = CurlTransfer(submission: submission)
        queue.append(exchange.identifier, origin: exchange.request.origin)
    }

    private func cancel(_ identifier: UInt64) {
        guard let transfer = transfers[identifier] else { return }
        end(transfer, .failure(.cancelledExchange))
    }

    /// Starts as many waiting exchanges as may run.
    private func admit() {
        while let identifier = queue.next(where: { transfers[$0] != nil }) {
            if let transfer = transfers[identifier] { start(transfer) }
        }
    }

    private func start(_ transfer: CurlTransfer) {
        multi = multi ?? CurlMulti(poller: mailbox.poller, maximumIdleConnections: configuration.maximumConnections)
        idleSince = nil
        let handle = unusedHandles.popLast() ?? CurlHandle()
        transfer.handle = handle
        guard let multi, let handle, handle.prepare(for: transfer, configuration: configuration), multi.add(handle)
        else {
            // The place in the queue was taken before; a transfer without a handle would not give it back.
            if handle == nil { queue.release(transfer.exchange.request.origin) }
            return end(
                transfer,
                .failure(
                    NetworkError(.unknown, "libcurl could not begin an exchange; the process may be out of memory")
                )
            )
        }
    }

    /// One round of libcurl: due timers, then events, then outcomes.
    private func work() {
        var now = ContinuousClock.now
        multi?.ring(at: now)
        reportFinished()
        expire(at: now)
        admit()
        closeIdleConnections(at: now)
        let next = nextEvent()
        now = .now
        let isDue = next.map { $0 <= now } ?? false
        let mustLook = isDue || !mailbox.prepareToSleep()
        let milliseconds = mustLook ? 0 : next.map { Int32((($0 - now).milliseconds)) } ?? -1
        mailbox.poller.wait(milliseconds: milliseconds) { socket, readable, writable in
            multi?.socket(socket, readable: readable, writable: writable)
        }
        reportFinished()
    }

    private func nextEvent() -> ContinuousClock.Instant? {
        let times = [
            multi?.alarm,
            deadlines.soonest { transfers[$0] != nil },
            idleSince.map { $0 + configuration.idleTimeout },
        ]
        return times.compactMap(\.self).min()
    }

    private func reportFinished() {
        while let (transfer, code) = multi?.nextFinished() {
            end(transfer, outcome(of: transfer, code: code))
        }
    }

    private func outcome(of transfer: CurlTransfer, code: Int32) -> CurlSubmission.Outcome {
        if let failure = transfer.failure { return .failure(failure) }
        let text = transfer.handle?.errorText ?? ""
        if let failure = CurlFailure(code: code, text: text, origin: transfer.exchange.request.origin) {
            return .failure(failure.networkError(connectTimeout: configuration.connectTimeout))
        }
        return Result { () throws(NetworkError) in try transfer.response() }
    }

    private func expire(at now: ContinuousClock.Instant) {
        while let identifier = deadlines.popExpired(at: now) {
            guard let transfer = transfers[identifier] else { continue }
            end(transfer, .failure(.missedDeadline(transfer.exchange.request.origin)))
        }
    }

    /// Reports the outcome and frees everything that the exchange used.
    private func end(_ transfer: CurlTransfer, _ outcome: CurlSubmission.Outcome) {
        transfers[transfer.exchange.identifier] = nil
        transfer.submission.end(outcome)
        if let handle = transfer.handle {
            transfer.handle = nil
            multi?.remove(handle)
            handle.reset()
            if unusedHandles.count < configuration.maximumConnections { unusedHandles.append(handle) }
            queue.release(transfer.exchange.request.origin)
        }
        if transfers.isEmpty { idleSince = .now }
    }

    /// libcurl closes connections only when it is busy with others, so after a long rest all of them go with their owner.
    private func closeIdleConnections(at now: ContinuousClock.Instant) {
        guard let idleSince, transfers.isEmpty, idleSince + configuration.idleTimeout <= now else { return }
        self.idleSince = nil
        unusedHandles = []
        multi = nil
    }
}

extension NetworkError {
    static var cancelledExchange: Self { Self(.cancelled, "the task was cancelled") }

    static func missedDeadline(_ origin: HTTPOrigin) -> Self {
        Self(.timedOut, "\(origin) gave no whole response before the deadline")
    }
}
