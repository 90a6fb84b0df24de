@testable import OAuth2

/// A small world of hosts that share a record, with a server that detects reuse: all decisions are
/// those of ``RefreshTable``, and everything else may happen in any order.
struct RefreshModel: Hashable {
    /// The rules of a world.
    struct Rules: Hashable {
        var hosts = 3
        /// The number of refreshes after which no host needs a token.
        var generations = 2
        /// The number of faults that may happen, at any step.
        var faults = 2
        /// A Boolean value that indicates whether hosts announce a refresh.
        var announces = true
        /// A Boolean value that indicates whether a host may pause between its last look at the
        /// clock and sending.
        var pausesBeforeSending = false
        /// A Boolean value that indicates whether a host sends again after a lost answer.
        var sendsAgain = false
        /// A Boolean value that indicates whether the server answers the preceding token again.
        var hasGrace = false
        /// A Boolean value that indicates whether successors are written without a comparison.
        var writesBlindly = false
    }

    struct Record: Hashable {
        var generation = 0
        var version = 0
        /// The identifiers of the attempts with the record's token, the last being the announced
        /// one.
        var attempts: [Int] = []
        var end: GrantEnd?
    }

    enum Phase: Hashable {
        case idle
        /// Has read a record.
        case read(Record)
        /// Doesn't know whether its announcement was written.
        case unsure(Int, Record, isLate: Bool)
        /// Has announced a refresh.
        case holding(Int, Record, isLate: Bool)
        /// Has looked at the clock for the last time, and may have paused since.
        case checked(Int, Record, isLate: Bool)
        case sent(Int, Record)
        /// Has a new token that must be saved over a version.
        case saving(Int, over: Record)
        /// Doesn't know whether its write happened, or found another version.
        case resaving(Int, over: Record)
        /// The server has rejected the token.
        case refused(Record)
        case rerefused(Record)
        case ended, crashed
    }

    struct Host: Hashable {
        var phase = Phase.idle
        /// The generation of the host's access token.
        var has = 0
    }

    struct Request: Hashable {
        let attempt: Int
        let token: Int
    }

    let rules: Rules
    var hosts: [Host]
    var record = Record()
    /// Writes without an answer, which may still happen.
    var late: [Record] = []
    var requests: [Request] = []
    /// Access tokens up to this generation have expired.
    var expired = 0
    var current = 0
    var isRevoked = false
    /// A Boolean value that indicates whether a new token died on its way.
    var isAnswerLost = false
    var faults: Int
    var wentBack = false
    var violation: String?

    init(_ rules: Rules) {
        self.rules = rules
        hosts = Array(repeating: Host(), count: rules.hosts)
        faults = rules.faults
    }

    /// The same world with its hosts in a canonical order.
    var canonical: Self {
        var world = self
        world.hosts.sort { $0.order < $1.order }
        world.late.sort { ($0.version, $0.generation) < ($1.version, $1.generation) }
        return world
    }

    /// Returns the worlds that can follow this one.
    var successors: [Self] {
        var next: [Self] = []
        for host in hosts.indices { act(host, &next) }
        for index in requests.indices { serve(index, &next) }
        for index in late.indices {
            next.append(changed { $0.write($0.late.remove(at: index)) })
        }
        if record.generation > expired, expired < rules.generations - 1, record.end == nil {
            next.append(changed { $0.expired += 1 })
        }
        return next
    }

    // MARK: Hosts

    private func act(_ host: Int, _ next: inout [Self]) {
        let phase = hosts[host].phase
        if faults > 0, phase != .crashed, phase != .ended {
            next.append(fault { $0.crash(host) })
        }
        switch phase {
        case .crashed, .ended: break
        case .idle:
            guard hosts[host].has <= expired else { break }
            next.append(changed { $0.hosts[host].phase = .read($0.record) })
        case .read(let found):
            decide(host, found, &next)
        case .unsure(let attempt, let old, let isLate):
            if !isLate, faults > 0 { next.append(fault { $0.hosts[host].phase = .unsure(attempt, old, isLate: true) }) }
            let reread: RefreshTable.Reread =
                record.attempts.last == attempt ? .own : record.version == old.version ? .unchanged : .other
            switch RefreshTable.step(after: .unknown(reread)) {
            case .send: next.append(changed { $0.hosts[host].phase = .holding(attempt, $0.record, isLate: isLate) })
            case .again: announce(host, attempt, over: old, isLate: isLate, &next)
            case .restart: next.append(changed { $0.hosts[host].phase = .idle })
            }
        case .holding(let attempt, let mine, let isLate):
            hold(host, attempt, mine, isLate: isLate, &next)
        case .checked(let attempt, let mine, let isLate):
            next.append(changed { $0.send(host, attempt, mine) })
            guard !isLate, faults > 0 else { break }
            next.append(fault { $0.hosts[host].phase = .checked(attempt, mine, isLate: true) })
        case .sent(let attempt, let mine):
            guard faults > 0 else { break }
            // The request or its answer is lost; the request may still arrive.
            next.append(fault { $0.giveUp(host, mine) })
            if requests.contains(where: { $0.attempt == attempt }) {
                next.append(
                    fault { world in
                        world.requests.removeAll { $0.attempt == attempt }
                        world.giveUp(host, mine)
                    }
                )
            }
            if rules.sendsAgain {
                next.append(fault { $0.requests.append(Request(attempt: attempt, token: mine.generation)) })
            }
        case .saving(let generation, let old):
            save(host, generation, over: old, &next)
        case .resaving(let generation, let old):
            resave(host, generation, over: old, &next)
        case .refused(let mine):
            refuse(host, mine, &next)
        case .rerefused(let mine):
            let isSame = record.generation == mine.generation && record.end == nil
            let isOthers = isSame && record.attempts != mine.attempts && !record.attempts.isEmpty
            switch RefreshTable.step(afterRejectionOver: isOthers ? .sameToken : isSame ? .none : .successor) {
            case .restart, .wait: next.append(changed { $0.hosts[host].phase = .idle })
            case .end: next.append(changed { $0.hosts[host].phase = .refused($0.record) })
            }
        }
    }

    private func decide(_ host: Int, _ found: Record, _ next: inout [Self]) {
        var facts = RefreshTable.Facts(record: found.end == nil ? .tokens : .end)
        facts.isUsable = found.generation > expired
        facts.isRotating = rules.announces
        facts.isOnHosts = true
        facts.hasGrace = rules.hasGrace
        let views: [RefreshTable.Announcement] =
            found.attempts.last.map { isOver($0) ? [.valid, .passed] : [.valid] } ?? [.none]
        // A holder that pauses before it writes is passed, too.
        if let last = found.attempts.last, views == [.valid], faults > 0, mayPause(last) {
            var paused = self
            paused.faults -= 1
            // Its answer is as good as lost for the others.
            paused.isAnswerLost = true
            facts.announcement = .passed
            if case .announce = RefreshTable.step(facts), !facts.isUsable {
                paused.announce(host, newAttempt(over: found), over: found, isLate: false, &next)
            }
        }
        for view in views {
            facts.announcement = view
            switch RefreshTable.step(facts) {
            case .use:
                next.append(
                    changed {
                        $0.hosts[host].has = found.generation
                        $0.hosts[host].phase = .idle
                    }
                )
            case .wait, .yield, .pause: next.append(changed { $0.hosts[host].phase = .idle })
            case .announce:
                announce(host, newAttempt(over: found), over: found, isLate: false, &next)
            case .send:
                next.append(changed { $0.send(host, newAttempt(over: found), found) })
            case .fail, .redeem: next.append(changed { $0.hosts[host].phase = .ended })
            }
        }
        // The store can't be reached: a rotating token isn't sent.
        facts.record = .unreachable
        if faults > 0 {
            let step = RefreshTable.step(facts)
            next.append(
                fault {
                    if step == .send { $0.violation = "sent a rotating token without the store" }
                    $0.hosts[host].phase = .idle
                }
            )
        }
    }

    /// Returns an identifier that no one in this world uses, the same for equal worlds.
    private func newAttempt(over record: Record) -> Int {
        let used = Set(
            hosts.flatMap(\.attempts) + late.flatMap(\.attempts) + requests.map(\.attempt) + self.record.attempts
        )
        let first = (record.version + 1) * 8
        return (first...).first { !used.contains($0) } ?? first
    }

    /// Returns a Boolean value that indicates whether an announcement may pass for other hosts.
    ///
    /// It passes when its host can't send anymore and its request is over, unless hosts may pause
    /// at the worst moment.
    private func isOver(_ attempt: Int) -> Bool {
        if requests.contains(where: { $0.attempt == attempt }) { return rules.sendsAgain }
        return hosts.allSatisfy { host in
            switch host.phase {
            case .unsure(attempt, _, let isLate), .holding(attempt, _, let isLate), .checked(attempt, _, let isLate):
                isLate
            // Without an answer, the announcement outlasts the request's timeout.
            case .sent(attempt, _): false
            case .saving(_, let mine), .resaving(_, let mine), .refused(let mine), .rerefused(let mine):
                mine.attempts.last != attempt
            default: true
            }
        }
    }

    /// Returns a Boolean value that indicates whether the holder of an announcement has an answer,
    /// and only its own pause can make the announcement pass.
    private func mayPause(_ attempt: Int) -> Bool {
        hosts.contains { host in
            switch host.phase {
            case .saving(_, let mine), .resaving(_, let mine), .refused(let mine), .rerefused(let mine):
                mine.attempts.last == attempt
            default: false
            }
        }
    }

    private func announce(_ host: Int, _ attempt: Int, over old: Record, isLate: Bool, _ next: inout [Self]) {
        var announced = old
        announced.version = old.version + 1
        announced.attempts.append(attempt)
        if record.version == old.version {
            next.append(
                changed {
                    $0.write(announced)
                    $0.hosts[host].phase = .holding(attempt, announced, isLate: isLate)
                }
            )
        } else if case .restart = RefreshTable.step(after: .conflict) {
            next.append(changed { $0.hosts[host].phase = .idle })
        }
        guard faults > 0 else { return }
        for outcome in Outcome.allCases {
            next.append(
                fault {
                    $0.attempt(announced, outcome)
                    $0.hosts[host].phase = .unsure(attempt, old, isLate: isLate)
                }
            )
        }
    }

    private func hold(_ host: Int, _ attempt: Int, _ mine: Record, isLate: Bool, _ next: inout [Self]) {
        // The host checks the clock, not the record: another host may have written meanwhile.
        guard !isLate else {
            next.append(changed { $0.withdraw(host, mine, after: .late) })
            return
        }
        if faults > 0 {
            next.append(fault { $0.hosts[host].phase = .holding(attempt, mine, isLate: true) })
            next.append(fault { $0.withdraw(host, mine, after: .notSent) })
        }
        next.append(
            changed {
                if rules.pausesBeforeSending {
                    $0.hosts[host].phase = .checked(attempt, mine, isLate: false)
                } else {
                    $0.send(host, attempt, mine)
                }
            }
        )
    }

    private mutating func send(_ host: Int, _ attempt: Int, _ mine: Record) {
        // After a late answer, its holder may write its token over another's announcement.
        if rules.announces, record.attempts.last != attempt, !rules.pausesBeforeSending, !isAnswerLost {
            violation = "sent without an announcement in the record"
        }
        requests.append(Request(attempt: attempt, token: mine.generation))
        hosts[host].phase = .sent(attempt, mine)
    }

    private mutating func giveUp(_ host: Int, _ mine: Record) {
        guard RefreshTable.step(after: .lost) == .keep else { return violation = "forgot a lost answer" }
        hosts[host].phase = .idle
    }

    private mutating func withdraw(_ host: Int, _ mine: Record, after answer: RefreshTable.Answer) {
        switch RefreshTable.step(after: answer) {
        case .withdraw, .withdrawAndRestart:
            var record = mine
            record.version += 1
            record.attempts.removeLast()
            write(record)
        default: violation = "kept an announcement of an unsent token"
        }
        hosts[host].phase = .idle
    }

    private mutating func crash(_ host: Int) {
        switch hosts[host].phase {
        case .saving, .resaving: isAnswerLost = true
        default: break
        }
        hosts[host].phase = .crashed
    }
}

extension RefreshModel.Host {
    /// The attempts that the host knows of.
    fileprivate var attempts: [Int] {
        switch phase {
        case .idle, .ended, .crashed: []
        case .read(let record), .saving(_, let record), .resaving(_, let record), .refused(let record),
            .rerefused(let record):
            record.attempts
        case .unsure(let attempt, let record, _), .holding(let attempt, let record, _),
            .checked(let attempt, let record, _), .sent(let attempt, let record):
            record.attempts + [attempt]
        }
    }

    /// A number that sorts hosts, the same for equal hosts.
    fileprivate var order: Int {
        var hasher = StableHash()
        switch phase {
        case .idle: hasher.add(1)
        case .read(let record): hasher.add(2, record)
        case .unsure(let attempt, let record, let isLate): hasher.add(isLate ? 3 : 4, record, attempt)
        case .holding(let attempt, let record, let isLate): hasher.add(isLate ? 5 : 6, record, attempt)
        case .checked(let attempt, let record, let isLate): hasher.add(isLate ? 7 : 15, record, attempt)
        case .sent(let attempt, let record): hasher.add(8, record, attempt)
        case .saving(let generation, let record): hasher.add(9, record, generation)
        case .resaving(let generation, let record): hasher.add(10, record, generation)
        case .refused(let record): hasher.add(11, record)
        case .rerefused(let record): hasher.add(12, record)
        case .ended: hasher.add(13)
        case .crashed: hasher.add(14)
        }
        return hasher.value &* 31 &+ has
    }

    private struct StableHash {
        var value = 17

        mutating func add(_ kind: Int, _ record: RefreshModel.Record? = nil, _ number: Int = 0) {
            value = value &* 1_000_003 &+ kind
            value = value &* 1_000_003 &+ number
            guard let record else { return }
            value = value &* 1_000_003 &+ record.version
            value = value &* 1_000_003 &+ record.generation
            for attempt in record.attempts { value = value &* 1_000_003 &+ attempt }
        }
    }
}
