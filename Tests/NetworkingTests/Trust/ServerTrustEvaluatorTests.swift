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

    @Test("A pin of any certificate of the chain is enough")
    func anyCertificate() throws {
        for pin in chain {
            #expect(try result("example.org", [policy("example.org", other, pin)]) == .success(.pinned(pin)))
        }
    }

    @Test("Without a pin of the chain the server is refused, and the pins seen are told")
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

    @Test("The order of checking says which of several pins it was")
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
        "A policy covers its own domain and, if it is asked to, what is below it; never what is above",
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

    @Test("Of several policies the one with the longest name decides, in whatever order they are given")
    func mostSpecific() throws {
        let policies = [
            try policy("org", other, subdomains: true),
            try policy("api.example.org", leaf),
            try policy("example.org", root, subdomains: true),
        ]
        for policies in [policies, policies.reversed()] {
            #expect(try result("api.example.org", policies) == .success(.pinned(leaf)))
            #expect(try result("example.org", policies) == .success(.pinned(root)))
            // The policy of api.example.org is for that name only.
            #expect(try result("v2.api.example.org", policies) == .success(.pinned(root)))
            #expect(try result("other.org", policies) == .failure(.pinMismatch(seen: chain)))
        }
        let strict = [try policy("example.org", root, subdomains: true), try policy("api.example.org", other)]
        #expect(try result("api.example.org", strict) == .failure(.pinMismatch(seen: chain)))
    }

    @Test("International names match in either form")
    func internationalNames() throws {
        let policies = [try policy("b\u{fc}cher.example", leaf, subdomains: true)]
        #expect(try result("xn--bcher-kva.example", policies) == .success(.pinned(leaf)))
        #expect(try result("www.XN--BCHER-KVA.example", policies) == .success(.pinned(leaf)))
        #expect(try result("bucher.example", policies) == .failure(.hostNotPinned))
    }

    @Test("Addresses match as addresses and have no subdomains")
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

    @Test("Hosts without a policy are refused unless they are allowed")
    func notPinned() throws {
        let policies = [try policy("example.org", leaf)]
        #expect(try result("example.com", policies) == .failure(.hostNotPinned))
        #expect(try result("example.com", policies) { $0.allowNotPinnedDomains = true } == .success(.notPinned))
    }

    @Test(
        "A host that can't be read is refused even where hosts without a policy are allowed",
        arguments: ["", "127.1"]
    )
    func unreadableHost(host: String) throws {
        let policies = [try policy("example.org", leaf)]
        #expect(try result(host, policies) { $0.allowNotPinnedDomains = true } == .failure(.hostNotPinned))
    }

    @Test("An expired policy fails closed, with right pins and wrong ones, unless it is allowed")
    func expired() throws {
        for pin in [leaf, other] {
            let policies = [try policy("example.org", pin, until: now - 1)]
            #expect(try result("example.org", policies) == .failure(.pinningPolicyExpired))
            #expect(
                try result("example.org", policies) { $0.allowExpiredDomainPolicies = true } == .success(.policyExpired)
            )
        }
        // In its last moment it still holds.
        #expect(try result("example.org", [policy("example.org", leaf, until: now)]) == .success(.pinned(leaf)))
        #expect(
            try result("example.org", [policy("example.org", other, until: now)]) {
                $0.allowExpiredDomainPolicies = true
            } == .failure(.pinMismatch(seen: chain))
        )
    }

    @Test("The expired policy of a longer name does not give way to that of a shorter one")
    func expiredSubdomain() throws {
        let policies = [
            try policy("example.org", leaf, subdomains: true), try policy("api.example.org", leaf, until: now - 1),
        ]
        #expect(try result("api.example.org", policies) == .failure(.pinningPolicyExpired))
        #expect(try result("example.org", policies) == .success(.pinned(leaf)))
    }

    @Test("An empty chain satisfies no policy")
    func emptyChain() throws {
        let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy("example.org", leaf)]))
        #expect(throws: TLSFailure.pinMismatch(seen: [])) { try evaluator.evaluate(host: "example.org", chain: []) }
    }
}
