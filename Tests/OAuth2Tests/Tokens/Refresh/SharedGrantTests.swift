import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests of two hosts that share one grant in a store that excludes only tasks of one process.
@Suite("Grants that hosts share", .limitedConcurrency, .tags(.concurrency))
struct SharedGrantTests {
    private static let another = RefreshAttempt(id: "another", host: "b:1")

    @Test("A refresh is announced with durations, and costs one read and two writes, another host's token one read")
    func cost() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        #expect(try await hosts.token(on: 0) == "a1")
        #expect((hosts.stores[0].loads, hosts.stores[0].written.count) == (1, 2))
        let announced = try #require(hosts.stores[0].written.first?.refreshAttempt)
        #expect((announced.validFor, announced.tries, announced.id.count) == (.seconds(20), 1, 32))
        #expect(announced.host?.contains(":") == true)
        #expect(hosts.record?.refreshAttempt == nil)
        #expect(try await hosts.token(on: 1) == "a1")
        #expect((hosts.stores[1].loads, hosts.stores[1].written.count) == (1, 0))
        #expect(hosts.sent == ["r0"])
        // Each refresh counts up; all have the same epoch.
        #expect(hosts.record?.generation == 1)
        let epoch = try #require(hosts.record?.epoch)
        #expect(hosts.stores[0].written.map(\.epoch) == [epoch, epoch])
        // With a grace period, announcements pass within it.
        let brief = SharedGrantFixture([.tokens("a1", refresh: "r1")], rotation: .rotating(grace: .seconds(10)))
        _ = try await brief.token(on: 0)
        #expect(brief.stores[0].written.first?.refreshAttempt?.validFor == .seconds(8))
    }

    @Test("Uses a valid token although another host is refreshing it")
    func reader() async throws {
        let hosts = SharedGrantFixture([])
        hosts.write { $0.refreshAttempt = Self.another }
        #expect(try await hosts.token(on: 0) == "old")
    }

    @Test("Waits for another host's refresh, and uses its token", .shows("L11"))
    func waiter() async throws {
        let hosts = SharedGrantFixture([])
        hosts.expire(Self.another)
        let call = Task { try await hosts.token(on: 0) }
        while hosts.stores[0].loads < 3 { await Task.yield() }
        hosts.write { $0 = TokenRecord(accessToken: Secret("a1"), refreshToken: Secret("r1")) }
        #expect(try await call.value == "a1")
        #expect(hosts.sent.isEmpty)
    }

    @Test("Sends the token itself when another host's time has passed, and counts the attempts", .shows("O27"))
    func takeover() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        hosts.expire(Self.another)
        let started = hosts.time.now
        #expect(try await hosts.token(on: 0) == "a1")
        #expect(hosts.time.now - started >= .seconds(20))
        #expect(hosts.stores[0].written.first?.refreshAttempt?.tries == 2)
        #expect((hosts.stores[0].written.first?.refreshAttempt?.earlier, hosts.sent) == (["another"], ["r0"]))
    }

    @Test("Waits longer after each attempt that ended without a result")
    func crashLoop() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        hosts.expire(RefreshAttempt(id: "another", tries: 4))
        let first = await hosts.code(on: 0)
        #expect(first?.code == .storeBusy)
        #expect(first?.retryAfter == .seconds(50))
        #expect(hosts.sent.isEmpty)
        hosts.time.advance(by: .seconds(50))
        #expect(try await hosts.token(on: 0) == "a1")
    }

    @Test("Sends nothing if the store can't be reached or written, and says why", .shows("L12"))
    func unreachable() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        hosts.stores[0].fail(.load)
        #expect(await hosts.code(on: 0)?.code == .storeFailed)
        hosts.stores[0].fail(.write, .write, .write)
        #expect(await hosts.code(on: 0)?.code == .storeFailed)
        #expect(hosts.sent.isEmpty)
        #expect(try await hosts.token(on: 0) == "a1")
        // A grant that needs no user goes on without the store.
        let own = SharedGrantFixture([.tokens("a1")], grant: ClientCredentialsGrant())
        own.stores[0].fail(.load)
        #expect(try await own.token(on: 0) == "a1")
    }

    @Test("Recognizes an announcement that was written although the store reported an error", .shows("L12"))
    func unknownOutcome() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2")])
        hosts.stores[0].fail(.answer)
        #expect(try await hosts.token(on: 0) == "a1")
        #expect(hosts.stores[0].written.count == 2)
        // One that wasn't written is written again.
        hosts.time.advance(by: .seconds(3_600))
        hosts.stores[0].fail(.write)
        #expect(try await hosts.token(on: 0) == "a2")
        #expect(hosts.stores[0].written.count == 4)
        #expect(hosts.sent == ["r0", "r1"])
    }

    @Test("Recognizes its tokens in the store although the store reported an error")
    func unknownSave() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        hosts.beforeResult { hosts.stores[0].fail(.answer) }
        #expect(try await hosts.token(on: 0) == "a1")
        #expect((hosts.stores[0].written.count, hosts.record?.refreshToken) == (2, Secret("r1")))
    }

    @Test("Doesn't send a token whose announcement took too long, and announces it again", .shows("L13"))
    func slowAnnouncement() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
        hosts.stores[0].beforeNextWrite { _ in hosts.time.advance(by: .seconds(5)) }
        #expect(try await hosts.token(on: 0) == "a1")
        let attempts = hosts.stores[0].written.map(\.refreshAttempt?.id)
        #expect(attempts.map { $0 != nil } == [true, false, true, false])
        #expect(attempts[0] != attempts[2])
        #expect(hosts.sent == ["r0"])
    }

    @Test("A late host keeps its token if the other hasn't used the old one, and else takes the other's")
    func lateHolder() async throws {
        for (other, expected) in [("r0", "r1"), ("r9", "r9")] {
            let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1")])
            hosts.beforeResult {
                hosts.write {
                    $0.refreshToken = Secret(other)
                    $0.refreshAttempt = other == "r0" ? Self.another : nil
                }
            }
            #expect(try await hosts.token(on: 0) == "a1")
            #expect(hosts.record?.refreshToken == Secret(expected))
            #expect(hosts.revoked.isEmpty)
        }
    }

    @Test("A token that arrives after the sign-out of another host is revoked")
    func lateAfterSignOut() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1"), .text("")])
        hosts.beforeResult {
            hosts.write {
                $0.end = .signedOut
                $0.refreshToken = nil
            }
        }
        _ = try await hosts.token(on: 0)
        while hosts.revoked.isEmpty { await Task.yield() }
        #expect((hosts.revoked, hosts.record?.end) == (["r1"], .signedOut))
        await hosts.fixture.runOut()
    }

    @Test("A pause that the server asks one host for applies to all, by their own clocks")
    func pause() async throws {
        let hosts = SharedGrantFixture([.retryAfter(40), .tokens("a1", refresh: "r1")])
        #expect(await hosts.code(on: 0)?.code == .serverTransient)
        #expect(hosts.record?.refreshAttempt == nil)
        let error = await hosts.code(on: 1)
        #expect(error?.code == .serverTransient)
        #expect(error?.retryAfter == .seconds(40))
        #expect(hosts.sent.count == 1)
        hosts.time.advance(by: .seconds(40))
        #expect(try await hosts.token(on: 1) == "a1")
    }

    @Test("After a lost answer, the announcement stays and no host sends until it has passed")
    func lostAnswer() async throws {
        let hosts = SharedGrantFixture([
            .failure(NetworkError(.connectionLost, "cut")), .tokens("a1", refresh: "r1"),
        ])
        let error = await hosts.code(on: 0)
        #expect((error?.code, error?.isPossiblyLostRotation) == (.serverUnreachable, true))
        #expect(hosts.record?.refreshAttempt != nil)
        let started = hosts.time.now
        #expect(try await hosts.token(on: 1) == "a1")
        #expect(hosts.time.now - started >= .seconds(20))
    }

    @Test("Tells a revoked grant from a lost answer, for all hosts and without another request")
    func ends() async throws {
        for tries in [1, 2] {
            let hosts = SharedGrantFixture([.error("invalid_grant")])
            hosts.expire(tries > 1 ? Self.another : nil)
            for host in [0, 1] {
                let error = await hosts.code(on: host)
                #expect(error?.code == .reauthenticationRequired)
                #expect(error?.isPossiblyLostRotation == (tries > 1))
            }
            #expect(hosts.record?.end == (tries > 1 ? .lost : .revoked))
            #expect(hosts.sent.count == 1)
        }
    }

    @Test("A rejected token that another host has replaced doesn't end the grant")
    func replacedMeanwhile() async throws {
        let hosts = SharedGrantFixture([.error("invalid_grant")])
        hosts.beforeResult {
            hosts.write { $0 = TokenRecord(accessToken: Secret("a9"), refreshToken: Secret("r9")) }
        }
        #expect(try await hosts.token(on: 0) == "a9")
        #expect(hosts.record?.refreshToken == Secret("r9"))
    }

    @Test("A rejected token that another host is sending is left to that host")
    func sentByOther() async throws {
        let hosts = SharedGrantFixture([.error("invalid_grant")])
        hosts.beforeResult { hosts.write { $0.refreshAttempt = Self.another } }
        let call = Task { try await hosts.token(on: 0) }
        while hosts.stores[0].loads < 3 { await Task.yield() }
        #expect(hosts.record?.refreshAttempt == Self.another)
        hosts.write {
            $0.end = .lost
            $0.refreshToken = nil
        }
        let error = await failure { try await call.value }
        #expect((error?.code, error?.isPossiblyLostRotation) == (.reauthenticationRequired, true))
        #expect(hosts.sent.count == 1)
    }

    @Test("A store that was set back is an error until the user signs in, and nothing is sent", .shows("L14"))
    func setBack() async throws {
        let hosts = SharedGrantFixture([
            .tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2"), .tokens("a3", refresh: "r3"),
        ])
        _ = try await hosts.token(on: 0)
        let backup = try #require(hosts.record)
        hosts.time.advance(by: .seconds(3_600))
        _ = try await hosts.token(on: 0)
        hosts.write { $0 = backup }
        hosts.time.advance(by: .seconds(3_600))
        #expect(await hosts.code(on: 0)?.code == .storeDamaged)
        #expect(hosts.sent == ["r0", "r1"])
        hosts.write { $0 = TokenRecord(accessToken: Secret("new"), refreshToken: Secret("n0"), epoch: "new") }
        #expect(try await hosts.token(on: 0) == "new")
    }

    @Test("A token that the server doesn't rotate is sent without announcements, and again after a lost answer")
    func notRotating() async throws {
        let hosts = SharedGrantFixture(
            [.failure(NetworkError(.connectionLost, "cut")), .tokens("a1"), .tokens("a2")],
            rotation: .none
        )
        _ = await hosts.code(on: 0)
        #expect(try await hosts.token(on: 1) == "a1")
        #expect(hosts.stores.flatMap(\.written).map(\.refreshAttempt) == [nil])
        hosts.stores[0].fail(.load)
        #expect(try await hosts.token(on: 0) == "a2")
        #expect(hosts.sent == ["r0", "r0", "r0"])
    }

    @Test("In the background, a host leaves a refresh to the one that has announced it")
    func background() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2")])
        let cached = CachedTokenSource(
            hosts.sources[0],
            timing: .init(timeSource: hosts.time.timeSource, random: { 1 })
        )
        #expect(try await cached.token().value == Secret("a1"))
        hosts.time.advance(by: .seconds(3_400))
        hosts.write { $0.refreshAttempt = Self.another }
        // The refresh starts in the background and ends without a request, even after the
        // announcement has passed.
        for _ in 1...3 {
            #expect(try await cached.token().value == Secret("a1"))
            for _ in 1...1_000 { await Task.yield() }
            while hosts.time.sleeperCount > 0 { await Task.yield() }
            hosts.time.advance(by: .seconds(25))
        }
        #expect(hosts.sent == ["r0"])
        // The token has expired: this host takes over.
        hosts.time.advance(by: .seconds(100))
        #expect(try await hosts.passingTime { try await cached.token().value } == Secret("a2"))
    }
}
