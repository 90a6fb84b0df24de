import CCurl
import System

/// The engine: it owns all transfers and runs on a thread of its own.
///
/// Each round sleeps until something happens, takes the messages, lets libcurl work and reports what happened. Only
/// this thread reports outcomes, so each exchange has exactly one.
final class CurlLoop {
    private let mailbox: Mailbox<CurlMessage>
    private let poller: EventPoller
    private let preparation: CurlEngineSettings
    private let round = CurlLoopState()
    private var connections: CurlConnections
    private var transfers: [UInt64: CurlTransfer] = [:]
    private var queue: ExchangeQueue
    private var deadlines = DeadlineQueue()
    /// When to look at the timeouts of exchanges that have some besides their deadline.
    private var alarms = DeadlineQueue()
    private var rests = CurlRests()
    private var unusedHandles: [CurlHandle] = []
    /// Outcomes that nobody was told yet.
    private var deliveries: [CurlDelivery] = []
    /// What happened on the sockets while the engine slept.
    private var events: [EventPoller.Event] = []
    /// When the engine stops even if exchanges still run; `nil` if it was not told to stop.
    private var closing: ContinuousClock.Instant?
    /// The callers that wait until the engine has stopped.
    private var closers: [CheckedContinuation<Void, Never>] = []

    init(mailbox: Mailbox<CurlMessage>, poller: EventPoller, configuration: CurlTransport.Configuration) {
        self.mailbox = mailbox
        self.poller = poller
        preparation = CurlEngineSettings(configuration)
        connections = CurlConnections(poller: poller, maximumIdle: configuration.maximumConnections)
        queue = ExchangeQueue(
            maximumPerOrigin: configuration.maximumConnectionsPerHost,
            maximum: configuration.maximumConnections
        )
    }

    private var configuration: CurlTransport.Configuration { preparation.configuration }

    /// Works until a message closes the engine.
    func run() {
        var messages: [CurlMessage] = []
        while true {
            wait()
            round.begin()
            // Before exchanges begin: none may begin on a connection on which something came since its last one.
            events.removeAll { connections.wake(by: $0) }
            mailbox.collect(&messages)
            for message in messages { obey(message) }
            if let closing, transfers.isEmpty || closing <= round.now { break }
            admit()
            work()
        }
        for transfer in Array(transfers.values) { end(transfer, .transportClosed) }
        deliver()
        unusedHandles = []
        connections.close()
        for message in mailbox.close() { obey(message) }
        for closer in closers { closer.resume() }
    }

    private func obey(_ message: CurlMessage) {
        switch message {
        case .submit(let submission): accept(submission)
        case .cancel(let identifier): cancel(identifier)
        case .resume(let identifier): resume(identifier)
        case .answer(let identifier, let answer): take(answer, for: identifier)
        case .close(let deadline, let closer):
            closing = min(closing ?? deadline, deadline)
            if let closer { closers.append(closer) }
        }
    }

    private func accept(_ submission: CurlSubmission) {
        guard closing == nil else { return submission.refuse(.transportClosed) }
        let exchange = submission.exchange
        guard !exchange.isCancelled else { return submission.refuse(.cancelledExchange) }
        if let deadline = exchange.limits.deadline {
            guard deadline > round.now else { return submission.refuse(.missedDeadline(exchange, .queued)) }
            deadlines.insert(exchange.identifier, deadline: deadline) { transfers[$0] != nil }
        }
        let transfer = CurlTransfer(
            submission: submission,
            round: round,
            preparation: preparation,
            upload: upload(of: exchange)
        )
        transfers[exchange.identifier] = transfer
        if queue.enter(transfer.origin) {
            start(transfer)
        } else {
            queue.append(exchange.identifier, origin: transfer.origin)
        }
    }

    private func upload(of exchange: CurlExchange) -> CurlUpload? {
        guard case .streamed(let body) = exchange.request.body else { return nil }
        return CurlUpload(body, capacity: configuration.streamBufferSize) { [mailbox, exchange] in
            mailbox.post(.resume(exchange.identifier))
        }
    }

    private func cancel(_ identifier: UInt64) {
        guard let transfer = transfers[identifier] else { return }
        end(transfer, .cancelledExchange)
    }

    /// Lets a transfer go on whose caller has done their part.
    private func resume(_ identifier: UInt64) {
        guard let transfer = transfers[identifier] else { return }
        settle(transfer, transfer.resume())
    }

    /// libcurl offers what it kept while it resumes, and a refusal then is not reported in any other way.
    private func settle(_ transfer: CurlTransfer, _ code: Int32) {
        if code != 0 { end(transfer, failure(of: transfer, code: code)) }
    }

    /// Starts as many waiting exchanges as may run.
    private func admit() {
        while let identifier = queue.next(where: { transfers[$0] != nil }) {
            if let transfer = transfers[identifier] { start(transfer) }
        }
    }

    private func start(_ transfer: CurlTransfer) {
        if transfer.earlierRequestCount == 0 {
            transfer.observation?.start(at: round.now)
        } else {
            transfer.observation?.drive(at: round.now)
        }
        let handle = unusedHandles.popLast() ?? CurlHandle()
        transfer.handle = handle
        guard let handle, handle.prepare(for: transfer, preparation), connections.add(handle, transfer.traffic) else {
            // The place in the queue was taken before; a transfer without a handle would not give it back.
            if handle == nil { queue.release(transfer.origin) }
            return end(transfer, .cannotBegin)
        }
        transfer.isDriven = true
    }

    /// Sends a request again that no server has acted on, or that may be sent twice.
    private func again(_ transfer: CurlTransfer) {
        let next = CurlTransfer(repeating: transfer)
        transfers[transfer.exchange.identifier] = next
        transfer.hasEnded = true
        if let handle = transfer.handle { connections.remove(handle, transfer.traffic, at: round.now) }
        transfer.handle = nil
        start(next)
    }

    /// Has a name looked up that a transfer needs, and stops driving the transfer meanwhile.
    private func lookUp(_ transfer: CurlTransfer, code: Int32) {
        guard let handle = transfer.handle else { return }
        let name = transfer.wantedName(code: code, text: handle.errorText)
        stopDriving(transfer, handle)
        guard let name, transfer.nameLookup.begin(name, at: round.now) else {
            transfer.nameLookup.isWanted = false
            return end(transfer, failure(of: transfer, code: code))
        }
        guard !NameResolver.Query.isAddress(name.host), !HTTPOrigin.isLoopback(host: name.host) else {
            _ = transfer.nameLookup.end(at: round.now)
            transfer.nameLookup.isAllowed = true
            return drive(transfer, handle)
        }
        let identifier = transfer.exchange.identifier
        let query = NameResolver.Query(name: name.host, family: configuration.addressFamily.wrapped)
        let ticket = configuration.resolver.resolve(query) { [mailbox] in mailbox.post(.answer(identifier, $0)) }
        transfer.nameLookup.wait(with: ticket)
        check(transfer)
    }

    /// Continues a transfer after a name lookup, or ends it if the lookup failed.
    private func take(_ answer: NameResolver.Answer, for identifier: UInt64) {
        guard let transfer = transfers[identifier], let handle = transfer.handle,
            let name = transfer.nameLookup.end(at: round.now)
        else { return }
        switch answer {
        case .success(let addresses):
            transfer.nameLookup.note(addresses, of: name, at: round.now)
            drive(transfer, handle)
        case .failure(let failure): end(transfer, transfer.failure(of: name, failure))
        }
    }

    /// Drives a transfer again that libcurl gave up for a name.
    private func drive(_ transfer: CurlTransfer, _ handle: CurlHandle) {
        // libcurl wanted another connection for a request that it had begun to send.
        guard transfer.requestCount == 0 || transfer.seekBody(to: 0) else {
            return end(transfer, .repetitionImpossible(transfer.origin))
        }
        transfer.observation?.drive(at: round.now)
        let entries = preparation.resolverEntries + transfer.nameLookup.entries
        transfer.nameLookup.lines = CurlLines(entries.map(CurlLines.Line.init))
        guard
            handle.resume(
                with: transfer.nameLookup.lines,
                connectTimeout: configuration.connectTimeout - transfer.nameLookup.spent
            ), connections.add(handle, transfer.traffic)
        else { return end(transfer, .cannotBegin) }
        transfer.isDriven = true
    }

    private func stopDriving(_ transfer: CurlTransfer, _ handle: CurlHandle) {
        guard transfer.isDriven else { return }
        transfer.isDriven = false
        connections.remove(handle, transfer.traffic, at: round.now)
    }

    /// One round of libcurl: due timers, then events, then outcomes.
    private func work() {
        let rested = rests.takeDue(at: round.now)
        for transfer in rested { settle(transfer, transfer.goOn()) }
        connections.ring(at: round.now)
        var time = endTurn(of: rested, since: round.now)
        for event in events {
            let usefulCount = round.usefulCount
            connections.act(on: event)
            guard let transfer = connections.transfer(for: event) else {
                time = endTurn(of: [], since: time)
                continue
            }
            if event.conditions.contains(.readable), round.usefulCount == usefulCount,
                transfer.receiveUseless(at: event.socket)
            {
                end(transfer, transfer.failure)
            }
            time = endTurn(of: [transfer], since: time)
        }
        report()
        expire()
        if connections.closeIdle(since: round.now - configuration.idleTimeout) { unusedHandles = [] }
        deliver()
    }

    /// Lets transfers rest that have kept the others waiting; returns the present time.
    private func endTurn(of turns: [CurlTransfer], since start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let length = now - start
        guard transfers.count > 1, length > CurlTurn.longTurn else { return now }
        // A handshake is long, too, but has an end.
        for transfer in turns where !transfer.hasEnded && transfer.restEnd == nil && transfer.timing.hasFirstByte {
            rests.add(transfer, until: now + min(length * 4, CurlTurn.longestRest))
            // libcurl refuses this to a transfer that is over, which it tells later.
            _ = transfer.hold()
        }
        return now
    }

    /// Sleeps until there is something to do, if there is nothing, and takes what happened on the sockets.
    private func wait() {
        let next = nextEvent()
        let now = ContinuousClock.now
        let isDue = next.map { $0 <= now } ?? false || closing != nil && transfers.isEmpty || queue.hasTurn
        let mustLook = isDue || !mailbox.prepareToSleep()
        poller.wait(milliseconds: mustLook ? 0 : next.map { Int32(($0 - now).milliseconds) } ?? -1, &events)
    }

    private func nextEvent() -> ContinuousClock.Instant? {
        var next = connections.alarm
        func consider(_ time: ContinuousClock.Instant?) {
            if let time { next = min(next ?? time, time) }
        }
        if transfers.isEmpty {
            deadlines.removeAll()
            alarms.removeAll()
        }
        consider(deadlines.earliest)
        consider(alarms.earliest)
        consider(rests.earliest)
        consider(connections.idleSince.map { $0 + configuration.idleTimeout })
        consider(closing)
        return next
    }

    /// Hands out what libcurl brought.
    private func report() {
        while let (transfer, code) = connections.nextFinished() {
            if transfer.nameLookup.isWanted {
                lookUp(transfer, code: code)
            } else if transfer.isToRepeat(after: code) {
                again(transfer)
            } else {
                end(transfer, failure(of: transfer, code: code))
            }
        }
        for transfer in round.takeTouched() where !transfer.hasEnded {
            if transfer.isOutOfTurn, transfer.restEnd == nil { rests.add(transfer, until: round.now) }
            settle(transfer, transfer.flush())
            let isTimed = transfer.hasTimeouts || transfer.cutTime != nil || transfer.mayBeAnsweredEarly
            if isTimed, !transfer.hasEnded { check(transfer) }
            if !transfer.hasEnded { settle(transfer, transfer.stopWaiting()) }
        }
    }

    /// Tells the callers what became of their exchanges, one right after the other.
    ///
    /// The first one wakes a thread up; the others find it awake.
    private func deliver() {
        guard !deliveries.isEmpty else { return }
        for delivery in deliveries { delivery.continuation.resume(returning: delivery.outcome) }
        deliveries.removeAll(keepingCapacity: true)
    }

    private func failure(of transfer: CurlTransfer, code: Int32) -> NetworkError? {
        if let failure = transfer.failure { return failure }
        // We ended the transfer, because its response is there and libcurl wanted to ask again.
        if transfer.isAnswered || transfer.isCut || transfer.isAnswered(despite: code) { return nil }
        if transfer.isAnswerLost(code: code, text: transfer.handle?.errorText ?? "") {
            return .lostAnswer(transfer.origin)
        }
        if let refusal = transfer.refusal(code: code) { return refusal }
        if let number = transfer.socketError, transfer.requestCount == 0 {
            return .noDescriptor(number, "no connection to \(transfer.origin)")
        }
        let failure = CurlFailure(
            code: code,
            text: transfer.handle?.errorText ?? "",
            origin: transfer.origin,
            proxyStatus: transfer.handle?.number(CCURL_INFO_HTTP_CONNECTCODE) ?? 0,
            isReadingHead: transfer.requestCount > 0 && !transfer.head.isComplete,
            isHTTP2: transfer.stream != nil
        )
        return failure?.networkError(connectTimeout: configuration.connectTimeout, phase: transfer.phase)
    }

    private func expire() {
        while let identifier = deadlines.popExpired(at: round.now) {
            guard let transfer = transfers[identifier] else { continue }
            end(transfer, .missedDeadline(transfer.exchange, transfer.phase))
        }
        while let identifier = alarms.popExpired(at: round.now) {
            guard let transfer = transfers[identifier] else { continue }
            transfer.alarm = nil
            check(transfer)
        }
    }

    /// Looks at the timeouts of a transfer, and when to do so again.
    private func check(_ transfer: CurlTransfer) {
        if transfer.isAnsweredEarly { return end(transfer, nil) }
        if let time = transfer.cutTime, time <= round.now {
            transfer.isCut = true
            return end(transfer, nil)
        }
        let (failure, next) = transfer.timeout(at: round.now)
        if let failure { return end(transfer, failure) }
        guard let next, transfer.alarm.map({ next < $0 }) ?? true else { return }
        transfer.alarm = next
        alarms.insert(transfer.exchange.identifier, deadline: next) { transfers[$0] != nil }
    }

    /// Reports the outcome and frees everything that the exchange used.
    private func end(_ transfer: CurlTransfer, _ failure: NetworkError?) {
        transfers[transfer.exchange.identifier] = nil
        var failure = failure
        failure?.isUnprocessed = transfer.isUnprocessed
        if let delivery = transfer.end(failure) { deliveries.append(delivery) }
        guard let handle = transfer.handle else { return }
        transfer.handle = nil
        // With HTTP/2 the connection goes on.
        if transfer.stream != nil, failure != nil || transfer.isCut { round.useless.expectRest(at: handle.socket) }
        stopDriving(transfer, handle)
        if let ticket = transfer.nameLookup.ticket { configuration.resolver.leave(ticket) }
        // After 417 a handle never sends `Expect` again; there is no way to tell it otherwise.
        // What libcurl remembers of a failure, as that a server refused a stream, must not count for the next transfer.
        let isUsable = failure == nil && !transfer.isAnswered && transfer.head.status != 417
        if isUsable, unusedHandles.count < configuration.maximumConnections {
            handle.release(isOrdinary: transfer.requestCount <= 1 && !transfer.isCut)
            unusedHandles.append(handle)
        }
        queue.release(transfer.origin)
    }
}

extension NetworkError {
    static var cancelledExchange: Self { Self(.cancelled, "the task was cancelled") }

    fileprivate static var cannotBegin: Self {
        Self(.unknown, "libcurl could not begin an exchange; the process may be out of memory")
    }

    fileprivate static func missedDeadline(_ exchange: CurlExchange, _ phase: Timeout.Phase) -> Self {
        .timedOut(.deadline, of: exchange.limits, phase, exchange.request.origin)
    }
}
