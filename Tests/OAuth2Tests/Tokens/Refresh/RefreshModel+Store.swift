@testable import OAuth2

extension RefreshModel {
    /// The outcome of a write without an answer.
    enum Outcome: CaseIterable { case happens, never, later }

    // MARK: Changes

    func changed(_ change: (inout Self) -> Void) -> Self {
        var world = self
        change(&world)
        return world
    }

    func fault(_ change: (inout Self) -> Void) -> Self {
        var world = self
        world.faults -= 1
        change(&world)
        return world
    }

    // MARK: Store

    /// Writes a record if the stored one has the preceding version.
    @discardableResult
    mutating func write(_ new: Record) -> Bool {
        guard record.version == new.version - 1 else { return false }
        overwrite(new)
        return true
    }

    mutating func overwrite(_ new: Record) {
        if new.generation < record.generation { wentBack = true }
        if new.end != nil, !isRevoked { violation = "recorded an end that the server doesn't know" }
        // The server has replaced the token, and its answer died.
        if new.end == .revoked, new.generation < current { violation = "took a lost answer for a revocation" }
        record = new
    }

    mutating func attempt(_ record: Record, _ outcome: Outcome) {
        switch outcome {
        case .happens: write(record)
        case .never: break
        case .later: late.append(record)
        }
    }

    // MARK: Results

    func save(_ host: Int, _ generation: Int, over old: Record, _ next: inout [Self]) {
        let saved = Record(generation: generation, version: old.version + 1)
        next.append(
            changed {
                if rules.writesBlindly {
                    var blind = saved
                    blind.version = $0.record.version + 1
                    $0.overwrite(blind)
                    $0.finish(host, generation)
                } else if $0.write(saved) {
                    $0.finish(host, generation)
                } else {
                    $0.hosts[host].phase = .resaving(generation, over: old)
                }
            }
        )
        guard faults > 0, !rules.writesBlindly else { return }
        for outcome in Outcome.allCases {
            next.append(
                fault {
                    $0.attempt(saved, outcome)
                    $0.hosts[host].phase = .resaving(generation, over: old)
                }
            )
        }
    }

    func resave(_ host: Int, _ generation: Int, over old: Record, _ next: inout [Self]) {
        let found: RefreshTable.Found =
            record.version == old.version
            ? .ancestor
            : record.end != nil
                ? .other
                : record.generation == generation && record.attempts.isEmpty
                    ? .own : record.generation < generation ? .ancestor : .other
        next.append(
            changed {
                switch RefreshTable.step(afterSavingOver: found) {
                case .overwrite: $0.hosts[host].phase = .saving(generation, over: $0.record)
                case .done, .forget: $0.finish(host, generation)
                case .revoke, .later: $0.violation = "gave up a token"
                }
            }
        )
    }

    private mutating func finish(_ host: Int, _ generation: Int) {
        hosts[host].has = generation
        hosts[host].phase = .idle
    }

    func refuse(_ host: Int, _ mine: Record, _ next: inout [Self]) {
        var end = Record(generation: mine.generation, version: mine.version + 1)
        end.end = RefreshTable.end(tries: mine.attempts.count, hasEarlier: mine.attempts.count > 1, isInDoubt: false)
        next.append(
            changed {
                $0.hosts[host].phase = $0.write(end) ? .ended : .rerefused(mine)
            }
        )
        guard faults > 0 else { return }
        for outcome in Outcome.allCases {
            next.append(
                fault {
                    $0.attempt(end, outcome)
                    $0.hosts[host].phase = .rerefused(mine)
                }
            )
        }
    }

    // MARK: Server

    func serve(_ index: Int, _ next: inout [Self]) {
        next.append(
            changed { world in
                let request = world.requests.remove(at: index)
                var answer: Int?
                if !world.isRevoked, request.token == world.current {
                    world.current += 1
                    answer = world.current
                } else if !world.isRevoked, rules.hasGrace, request.token == world.current - 1 {
                    answer = world.current
                } else {
                    world.isRevoked = true
                }
                let host = world.hosts.firstIndex { host in
                    guard case .sent(request.attempt, _) = host.phase else { return false }
                    return true
                }
                guard let host, case .sent(_, let mine) = world.hosts[host].phase else {
                    if answer != nil { world.isAnswerLost = true }
                    return
                }
                world.hosts[host].phase = answer.map { .saving($0, over: mine) } ?? .refused(mine)
            }
        )
    }

    // MARK: End

    /// Returns what's wrong with a world in which nothing happens anymore.
    var stuck: String? {
        for host in hosts {
            switch host.phase {
            case .crashed, .ended: continue
            case .idle where host.has > expired: continue
            default: return "a host waits forever"
            }
        }
        return nil
    }
}
