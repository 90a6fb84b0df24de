import CCurl
import SystemIO

/// The engine's loop, which owns all transfers and runs on a dedicated thread.
///
/// Each iteration sleeps until something happens, handles messages, lets libcurl work and reports
/// the results. Only this thread reports outcomes, so each request has exactly one.
final class CurlLoop {
    private let index: Int
    private let mailbox: Mailbox<CurlMessage>
    private let poller: EventPoller
    private let engineSettings: CurlEngineSettings
    private let loopState = CurlLoopState()
    private var connections: CurlConnections
    private var transfers: [UInt64: CurlTransfer] = [:]
    private let admission: CurlAdmission
    private var mustAdmit = false
    private let load: EngineLoad
    private var loadMeter: EngineLoadMeter
    private var deadlines = DeadlineQueue()
    /// The next timeout checks, for requests with timeouts other than their deadline.
    private var alarms = DeadlineQueue()
    private var rests = CurlRests()
    private var unusedHandles: [CurlHandle] = []
    private var deliveries: [CurlDelivery] = []
    private var events: [EventPoller.Event] = []
    /// The time at which the loop stops even if requests are running; `nil` unless it's closing.
    private var closing: Moment?
    private var closers: [CurlCloser] = []
    private var idleSince: Moment? = .now

    init(
        _ index: Int,
        mailbox: Mailbox<CurlMessage>,
        poller: EventPoller,
        _ configuration: CurlTransport.Configuration,
        _ admission: CurlAdmission,
        _ load: EngineLoad
    ) {
        self.index = index
        self.mailbox = mailbox
        self.poller = poller
        self.admission = admission
        self.load = load
        loadMeter = EngineLoadMeter(load)
        engineSettings = CurlEngineSettings(configuration)
        connections = CurlConnections(
            poller: poller,
            maximumIdle: configuration.maximumConnections,
            maximumStreams: configuration.maximumStreamsPerConnection
        )
    }

    private var configuration: CurlTransport.Configuration { engineSettings.configuration }

    /// An unused thread ends after this time.
    private var rest: Duration { max(idleTimeout, .seconds(1)) }

    /// At most a year, because adding an arbitrary duration to an instant can overflow.
    private var idleTimeout: Duration { min(configuration.idleTimeout, .seconds(31_536_000)) }

    func run() {
        var messages: [CurlMessage] = []
        while true {
            wait()
            loopState.begin()
            connections.beginIteration()
            // Must come before new requests start: none may start on a connection that received
            // data since its last request.
            events.removeAll { connections.wake(by: $0) }
            connections.close(where: \.isOver)
            mailbox.collect(&messages)
            for message in messages { obey(message) }
            if let closing, transfers.isEmpty || closing <= loopState.now { break }
            admit()
            work()
            if let idleSince, idleSince + rest <= loopState.now, mailbox.closeIfEmpty() { break }
        }
        for transfer in Array(transfers.values) { end(transfer, .transportClosed) }
        admit()
        deliver()
        unusedHandles = []
        connections.close()
        closing = loopState.now
        for message in mailbox.close() { obey(message) }
        admission.close(mailbox, for: index)
        admit()
        // The next thread starts unused.
        load.sleep()
        for closer in closers { closer.resume(hasEnded: true) }
    }

    private func obey(_ message: CurlMessage) {
        switch message {
        case .submit(let submission): accept(submission)
        case .admit(let identifier, let origin):
            if let transfer = transfers[identifier] { start(transfer) } else { release(origin) }
        case .cancel(let identifier):
            if let transfer = transfers[identifier] { finish(transfer, CancellationError()) }
        case .resume(let identifier):
            if let transfer = transfers[identifier] { settle(transfer, transfer.resume()) }
        case .answer(let identifier, let answer): take(answer, for: identifier)
        case .close(let deadline, let closer):
            closing = min(closing ?? deadline, deadline)
            if let closer { closers.append(closer) }
        }
    }

    private func accept(_ submission: CurlSubmission) {
        guard closing == nil else { return submission.refuse(NetworkError.transportClosed, load) }
        let exchange = submission.exchange
        guard !exchange.isCancelled else { return submission.refuse(CancellationError(), load) }
        if let deadline = exchange.limits.end {
            guard deadline > loopState.now else {
                return submission.refuse(NetworkError.missedDeadline(exchange, .queued), load)
            }
            deadlines.insert(exchange.identifier, deadline: deadline) { transfers[$0] != nil }
        }
        let transfer = CurlTransfer(
            submission: submission,
            loopState: loopState,
            engineSettings: engineSettings,
            activity: admission.activity(for: exchange.request.origin),
            upload: upload(of: exchange)
        )
        transfers[exchange.identifier] = transfer
        idleSince = nil
        if admission.enter(exchange.identifier, transfer.origin, at: loopState.now) {
            start(transfer)
        } else {
            // Another engine may have released capacity since.
            mustAdmit = true
        }
    }

    private func upload(of exchange: CurlExchange) -> CurlUpload? {
        guard case .streamed(let body) = exchange.request.body else { return nil }
        return CurlUpload(body, capacity: configuration.streamBufferSize) { [mailbox, exchange] in
            mailbox.post(.resume(exchange.identifier))
        }
    }

    /// libcurl offers buffered data while it resumes, and reports a rejection only here.
    private func settle(_ transfer: CurlTransfer, _ code: Int32) {
        if code != 0 { end(transfer, failure(of: transfer, code: code)) }
    }

    private func admit() {
        guard mustAdmit else { return }
        mustAdmit = false
        while let identifier = admission.next(for: index) {
            if let transfer = transfers[identifier] { start(transfer) }
        }
    }

    private func release(_ origin: HTTPOrigin) {
        if admission.release(origin) { mustAdmit = true }
    }

    private func start(_ transfer: CurlTransfer) {
        if !transfer.hasStarted {
            transfer.hasStarted = true
            transfer.activity.update { state in
                state.requests += 1
                state.runningRequests += 1
            }
        }
        transfer.exchange.note(.connecting)
        transfer.observation?.drive(at: loopState.now)
        let handle = unusedHandles.popLast() ?? CurlHandle()
        transfer.handle = handle
        guard let handle, handle.prepare(for: transfer, engineSettings), connections.add(handle, transfer.traffic)
        else { return end(transfer, .cannotBegin) }
        transfer.isDriven = true
    }

    /// The request wasn't processed or may be sent twice.
    private func again(_ transfer: CurlTransfer) {
        let next = CurlTransfer(repeating: transfer)
        transfers[transfer.exchange.identifier] = next
        transfer.hasEnded = true
        transfer.countBytes()
        if let handle = transfer.handle { connections.remove(handle, transfer.traffic, at: loopState.now) }
        transfer.handle = nil
        start(next)
    }

    private func lookUp(_ transfer: CurlTransfer, code: Int32) {
        guard let handle = transfer.handle else { return }
        let name = transfer.wantedName(code: code, text: handle.errorText)
        stopDriving(transfer, handle)
        transfer.nameLookup.isWanted = false
        guard let name, transfer.nameLookup.begin(name, at: loopState.now) else {
            return end(transfer, failure(of: transfer, code: code))
        }
        guard !NameResolver.Query.isAddress(name.host), !HTTPOrigin.isLoopback(host: name.host) else {
            _ = transfer.nameLookup.end(at: loopState.now)
            transfer.nameLookup.isAllowed = true
            return drive(transfer, handle)
        }
        let identifier = transfer.exchange.identifier
        let query = NameResolver.Query(name: name.host, family: configuration.usedFamily)
        transfer.nameLookup.ticket = configuration.resolver.resolve(query) { [mailbox] answer in
            mailbox.post(.answer(identifier, answer))
        }
        transfer.activity.update { state in
            state.lookups += 1
            state.runningLookups += 1
        }
        check(transfer)
    }

    private func take(_ answer: NameResolver.Answer, for identifier: UInt64) {
        guard let transfer = transfers[identifier], let handle = transfer.handle,
            let name = transfer.nameLookup.end(at: loopState.now)
        else { return }
        transfer.activity.update { $0.runningLookups -= 1 }
        switch answer {
        case .success(let addresses) where configuration.forbids(addresses):
            end(transfer, .notPublic(transfer.origin))
        case .success(let addresses):
            transfer.nameLookup.note(addresses, of: name, at: loopState.now)
            drive(transfer, handle)
        case .failure(let failure): end(transfer, transfer.failure(of: name, failure))
        }
    }

    private func drive(_ transfer: CurlTransfer, _ handle: CurlHandle) {
        // libcurl was making another connection for a request that it had started to send.
        guard transfer.requestCount == 0 || transfer.seekBody(to: 0) else {
            return end(transfer, .repetitionImpossible(transfer.origin))
        }
        transfer.observation?.drive(at: loopState.now)
        transfer.nameLookup.lines = CurlLines(engineSettings.resolverEntries + transfer.nameLookup.entries)
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
        connections.remove(handle, transfer.traffic, at: loopState.now)
    }

    private func work() {
        let rested = rests.takeDue(at: loopState.now)
        for transfer in rested { settle(transfer, transfer.goOn()) }
        connections.ring(at: loopState.now)
        var time = endTurn(of: rested, since: loopState.now)
        for event in events {
            if event.conditions == .readable, connections.transfer(for: event)?.mute(event.socket) ?? false { continue }
            let usefulCount = loopState.usefulCount
            connections.act(on: event)
            guard let transfer = connections.transfer(for: event) else {
                time = endTurn(of: [], since: time)
                continue
            }
            if event.conditions.contains(.readable), loopState.usefulCount == usefulCount,
                transfer.receiveUseless(at: event.socket)
            {
                end(transfer, transfer.failure)
            }
            time = endTurn(of: [transfer], since: time)
        }
        report()
        expire()
        if connections.closeIdle(since: loopState.now - idleTimeout) { unusedHandles = [] }
        deliver()
    }

    /// Makes transfers rest if they kept others waiting, and returns the current time.
    private func endTurn(of turns: [CurlTransfer], since start: Moment) -> Moment {
        let now = Moment.now
        let length = now - start
        guard transfers.count > 1, length > CurlTurn.longTurn else { return now }
        // A handshake takes long too, but it ends by itself.
        for transfer in turns where !transfer.hasEnded && transfer.restEnd == nil && transfer.timing.hasFirstByte {
            rests.add(transfer, until: now + min(length * 4, CurlTurn.longestRest))
            // Fails if the transfer has ended, which libcurl reports later.
            _ = transfer.hold()
        }
        return now
    }

    private func wait() {
        let next = nextEvent()
        let now = Moment.now
        let isDue = next.map { $0 <= now } ?? false || closing != nil && transfers.isEmpty || mustAdmit
        let mustLook = isDue || !mailbox.prepareToSleep()
        loadMeter.measure(at: now)
        if !mustLook { load.sleep() }
        poller.wait(milliseconds: mustLook ? 0 : next.map { Int32(($0 - now).milliseconds) } ?? -1, &events)
        if !mustLook { load.wake() }
    }

    private func nextEvent() -> Moment? {
        if transfers.isEmpty {
            deadlines.removeAll()
            alarms.removeAll()
        }
        let times = [
            connections.alarm, deadlines.earliest, alarms.earliest, rests.earliest,
            connections.idleSince.map { $0 + idleTimeout }, idleSince.map { $0 + rest }, closing,
        ]
        return times.compactMap(\.self).min()
    }

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
        for transfer in loopState.takeTouched() where !transfer.hasEnded {
            if transfer.isOutOfTurn, transfer.restEnd == nil {
                rests.add(transfer, until: transfer.paceEnd ?? loopState.now)
            }
            settle(transfer, transfer.flush())
            let isTimed = transfer.hasTimeouts || transfer.cutTime != nil || transfer.mayBeAnsweredEarly
            if isTimed, !transfer.hasEnded { check(transfer) }
            if !transfer.hasEnded { settle(transfer, transfer.stopWaiting()) }
        }
    }

    /// Delivers the outcomes in one batch: the first wakes a thread, and the others find it awake.
    private func deliver() {
        guard !deliveries.isEmpty else { return }
        for delivery in deliveries { delivery.continuation.resume(returning: delivery.outcome) }
        deliveries.removeAll(keepingCapacity: true)
    }

    private func failure(of transfer: CurlTransfer, code: Int32) -> NetworkError? {
        if let failure = transfer.failure { return failure }
        // The engine ended the transfer, because the response was complete and libcurl tried to
        // send the request again.
        if transfer.isAnswered || transfer.isCut || transfer.isAnswered(despite: code) { return nil }
        guard Int(code) != CCURL_OK else { return transfer.mayBeCut ? .cutStream(transfer.origin) : nil }
        if transfer.isAnswerLost(code: code, text: transfer.handle?.errorText ?? "") {
            return .lostAnswer(transfer.origin)
        }
        if let refusal = transfer.refusal(code: code) { return refusal }
        if let number = transfer.socketError, transfer.requestCount == 0 {
            return .noDescriptor(number, "can't connect to \(transfer.origin)")
        }
        let failure = CurlFailure(
            code: code,
            text: transfer.handle?.errorText ?? "",
            origin: transfer.origin,
            proxyStatus: transfer.handle?.number(CCURL_INFO_HTTP_CONNECTCODE) ?? 0,
            isReadingHead: transfer.requestCount > 0 && !transfer.head.isComplete,
            isHTTP2: transfer.stream != nil
        )
        return failure.networkError(connectTimeout: configuration.connectTimeout, phase: transfer.phase)
    }

    private func expire() {
        while let identifier = deadlines.popExpired(at: loopState.now) {
            guard let transfer = transfers[identifier], !transfer.isBeyondDeadline else { continue }
            end(transfer, .missedDeadline(transfer.exchange, transfer.phase))
        }
        while let identifier = alarms.popExpired(at: loopState.now) {
            guard let transfer = transfers[identifier] else { continue }
            transfer.alarm = nil
            check(transfer)
        }
    }

    private func check(_ transfer: CurlTransfer) {
        if transfer.isAnswered(at: loopState.now) { return end(transfer, nil) }
        if let time = transfer.cutTime, time <= loopState.now {
            transfer.isCut = true
            return end(transfer, nil)
        }
        let (failure, next) = transfer.timeout(at: loopState.now)
        if let failure { return end(transfer, failure) }
        guard let next, transfer.alarm.map({ next < $0 }) ?? true else { return }
        transfer.alarm = next
        alarms.insert(transfer.exchange.identifier, deadline: next) { transfers[$0] != nil }
    }

    private func end(_ transfer: CurlTransfer, _ failure: NetworkError?) {
        var failure = failure
        failure?.isUnprocessed = transfer.isUnprocessed
        finish(transfer, failure)
    }

    private func finish(_ transfer: CurlTransfer, _ failure: (any Error)?) {
        transfers[transfer.exchange.identifier] = nil
        load.end()
        if transfers.isEmpty { idleSince = loopState.now }
        if let delivery = transfer.end(failure) { deliveries.append(delivery) }
        guard transfer.hasStarted else { return admission.leave(transfer.exchange.identifier) }
        transfer.activity.update { $0.runningRequests -= 1 }
        defer { release(transfer.origin) }
        guard let handle = transfer.handle else { return }
        transfer.countBytes()
        transfer.handle = nil
        // With HTTP/2, the connection stays open.
        if transfer.stream != nil, failure != nil || transfer.isCut { loopState.useless.expectRest(at: handle.socket) }
        stopDriving(transfer, handle)
        if let ticket = transfer.nameLookup.ticket {
            transfer.activity.update { $0.runningLookups -= 1 }
            configuration.resolver.leave(ticket)
        }
        // After a 417, a handle never sends `Expect` again, and there's no option to change that. A
        // handle also remembers failures, such as a stream that a server refused, which must not
        // affect the next transfer.
        let isUsable = failure == nil && !transfer.isAnswered && transfer.head.status != 417
        if isUsable, unusedHandles.count < configuration.maximumConnections {
            handle.release(isOrdinary: transfer.requestCount <= 1 && !transfer.isCut)
            unusedHandles.append(handle)
        }
    }
}
