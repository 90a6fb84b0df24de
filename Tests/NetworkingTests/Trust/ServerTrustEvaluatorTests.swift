import Foundation
import Networking
import Testing

@Suite("ServerTrustEvaluator")
struct ServerTrustEvaluatorTests {
    private static func pin(_ octet: UInt8) -> PublicKeyPin? {
        PublicKeyPin(Data(repeating: octet, count: 32).base64EncodedString())
    }

    private let leaf: PublicKeyPin
    private let intermediate: PublicKeyPin
    private let root: PublicKeyPin
    private let other: PublicKeyPin
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        leaf = try #require(Self.pin(1))
        intermediate = try #require(Self.pin(2))
        root = try #require(Self.pin(3))
        other = try #require(Self.pin(4))
    }

    private var chain: [PublicKeyPin] { [leaf, intermediate, root] }

    private func policy(
        _ domain: String,
        _ pins: PublicKeyPin...,
        subdomains: Bool = false,
        until expiration: Date = .distantFuture
    ) throws -> PinningPolicy {
        try PinningPolicy(
            domainName: domain,
            includeSubdomains: subdomains,
            expirationDate: expiration,
            pinnedHashes: pins.map(\.description),
            enforceBackupPin: false
        )
    }

    private func result(
        _ host: String,
        _ policies: [PinningPolicy],
        _ adjust: (inout ServerTrustEvaluator.Configuration) -> Void = { _ in }
    ) throws -> Result<ServerTrustEvaluator.Acceptance, TLSFailure> {
        var configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: policies)
        adjust(&configuration)
        let evaluator = try ServerTrustEvaluator(configuration: configuration)
        return Result { () throws(TLSFailure) in try evaluator.evaluate(host: host, chain: chain, at: now) }
    }

    @Test("Accepts a pin of any certificate in the chain")
    func anyCertificate() throws {
        for pin in chain {
            #expect(try result("example.org", [policy("example.org", other, pin)]) == .success(.pinned(pin)))
        }
    }

    @Test("Rejects a server without a pin in its chain, and reports the chain's pins")
    func mismatch() throws {
        let policies = [try policy("example.org", other)]
        #expect(try result("example.org", policies) == .failure(.pinMismatch(seen: chain)))
        #expect(
            try result("example.org", policies) {
                $0.allowNotPinnedDomains = true
                $0.allowExpiredDomainPolicies = true
            } == .failure(.pinMismatch(seen: chain))
        )
    }

    @Test("The checking order decides which of several pins is the match")
    func checkingOrder() throws {
        let policies = [try policy("example.org", leaf, root)]
        #expect(try result("example.org", policies) == .success(.pinned(leaf)))
        #expect(
            try result("example.org", policies) { $0.certificateCheckingOrder = .rootToLeaf } == .success(.pinned(root))
        )
        let middle = [try policy("example.org", intermediate, other)]
        #expect(
            try result("example.org", middle) { $0.certificateCheckingOrder = .rootToLeaf }
                == .success(.pinned(intermediate))
        )
    }

    @Test(
        "Covers the policy's domain and, on request, its subdomains, but never its parents",
        arguments: [
            ("example.org", true, true), ("EXAMPLE.ORG.", true, true), ("api.example.org", false, true),
            ("a.b.example.org", false, true), ("org", false, false), ("badexample.org", false, false),
            ("example.org.evil.test", false, false), ("example.com", false, false), ("xn--example.org", false, false),
        ]
    )
    func coverage(host: String, isCoveredAlone: Bool, isCoveredWithSubdomains: Bool) throws {
        let refused: Result<ServerTrustEvaluator.Acceptance, TLSFailure> = .failure(.hostNotPinned)
        let accepted: Result<ServerTrustEvaluator.Acceptance, TLSFailure> = .success(.pinned(leaf))
        #expect(try result(host, [policy("example.org", leaf)]) == (isCoveredAlone ? accepted : refused))
        #expect(
            try result(host, [policy("example.org", leaf, subdomains: true)])
                == (isCoveredWithSubdomains ? accepted : refused)
        )
    }

    @Test("Applies the policy with the longest name, in any order of policies")
    func mostSpecific() throws {
        let policies = [
            try policy("org", other, subdomains: true),
            try policy("api.example.org", leaf),
            try policy("example.org", root, subdomains: true),
        ]
        for policies in [policies, policies.reversed()] {
            #expect(try result("api.example.org", policies) == .success(.pinned(leaf)))
            #expect(try result("example.org", policies) == .success(.pinned(root)))
            // The policy of api.example.org doesn't cover subdomains.
            #expect(try result("v2.api.example.org", policies) == .success(.pinned(root)))
            #expect(try result("other.org", policies) == .failure(.pinMismatch(seen: chain)))
        }
        let strict = [try policy("example.org", root, subdomains: true), try policy("api.example.org", other)]
        #expect(try result("api.example.org", strict) == .failure(.pinMismatch(seen: chain)))
    }

    @Test("Matches international names in either form")
    func internationalNames() throws {
        let policies = [try policy("b\u{fc}cher.example", leaf, subdomains: true)]
        #expect(try result("xn--bcher-kva.example", policies) == .success(.pinned(leaf)))
        #expect(try result("www.XN--BCHER-KVA.example", policies) == .success(.pinned(leaf)))
        #expect(try result("bucher.example", policies) == .failure(.hostNotPinned))
    }

    @Test("Matches addresses, which have no subdomains")
    func addresses() throws {
        let policies = [
            try policy("127.0.0.1", leaf, subdomains: true), try policy("2001:DB8::1", root, subdomains: true),
        ]
        #expect(try result("127.0.0.1", policies) == .success(.pinned(leaf)))
        #expect(try result("2001:db8:0:0:0:0:0:1", policies) == .success(.pinned(root)))
        #expect(try result("[2001:db8::1]", policies) == .success(.pinned(root)))
        #expect(try result("10.127.0.0.1", policies) == .failure(.hostNotPinned))
        #expect(try result("127.0.0.2", policies) == .failure(.hostNotPinned))
    }

    @Test("Rejects hosts without a policy unless allowed")
    func notPinned() throws {
        let policies = [try policy("example.org", leaf)]
        #expect(try result("example.com", policies) == .failure(.hostNotPinned))
        #expect(try result("example.com", policies) { $0.allowNotPinnedDomains = true } == .success(.notPinned))
    }

    @Test(
        "Rejects a malformed host even if hosts without a policy are allowed",
        arguments: ["", "127.1"]
    )
    func unreadableHost(host: String) throws {
        let policies = [try policy("example.org", leaf)]
        #expect(try result(host, policies) { $0.allowNotPinnedDomains = true } == .failure(.hostNotPinned))
    }

    @Test("An expired policy rejects right and wrong pins, unless allowed")
    func expired() throws {
        for pin in [leaf, other] {
            let policies = [try policy("example.org", pin, until: now - 1)]
            #expect(try result("example.org", policies) == .failure(.pinningPolicyExpired))
            #expect(
                try result("example.org", policies) { $0.allowExpiredDomainPolicies = true } == .success(.policyExpired)
            )
        }
        // The policy still applies in its last moment.
        #expect(try result("example.org", [policy("example.org", leaf, until: now)]) == .success(.pinned(leaf)))
        #expect(
            try result("example.org", [policy("example.org", other, until: now)]) {
                $0.allowExpiredDomainPolicies = true
            } == .failure(.pinMismatch(seen: chain))
        )
    }

    @Test("An expired policy with a longer name still takes precedence over one with a shorter name")
    func expiredSubdomain() throws {
        let policies = [
            try policy("example.org", leaf, subdomains: true), try policy("api.example.org", leaf, until: now - 1),
        ]
        #expect(try result("api.example.org", policies) == .failure(.pinningPolicyExpired))
        #expect(try result("example.org", policies) == .success(.pinned(leaf)))
    }

    @Test("Rejects an empty chain")
    func emptyChain() throws {
        let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy("example.org", leaf)]))
        #expect(throws: TLSFailure.pinMismatch(seen: [])) { try evaluator.evaluate(host: "example.org", chain: []) }
    }
}
