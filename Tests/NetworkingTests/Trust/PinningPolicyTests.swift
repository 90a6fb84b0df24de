import Foundation
import Networking
import Testing

@Suite("PinningPolicy")
struct PinningPolicyTests {
    private static let first = "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI="
    private static let second = "f0KW/FtqTjs108NpYj42SrGvOB2PpxIVM8nWxjPqJGE="

    private func error(
        _ domainName: String = "example.org",
        _ pins: [String],
        enforceBackupPin: Bool = true
    ) -> TrustConfigurationError? {
        thrown(TrustConfigurationError.self) {
            _ = try PinningPolicy(domainName: domainName, pinnedHashes: pins, enforceBackupPin: enforceBackupPin)
        }
    }

    @Test("Accepts two pins, or one without a required backup")
    func valid() throws {
        let policy = try PinningPolicy(domainName: "example.org", pinnedHashes: [Self.first, "sha256/" + Self.second])
        #expect(Set(policy.pins.map(\.description)) == ["sha256/" + Self.first, "sha256/" + Self.second])
        #expect(policy.expirationDate == .distantFuture)
        #expect(!policy.includeSubdomains)
        #expect(error("example.org", [Self.first], enforceBackupPin: false) == nil)
    }

    @Test("Compiles the documented call, also with a set")
    func documentedCall() throws {
        let set: Set<String> = ["WoiWRyIOVNa9ihaBciRSC7XHjliYS9VwUGOIud4PB18="]
        let policy = try ServerTrustEvaluator.PinningPolicy(
            domainName: "github.com",
            includeSubdomains: true,
            expirationDate: Date(timeIntervalSince1970: 1_952_035_200),
            pinnedHashes: set,
            enforceBackupPin: false
        )
        #expect(Set(policy.pins.map(\.description)) == Set(set.map { "sha256/" + $0 }))
    }

    @Test("Reports missing input by its code")
    func rejections() {
        #expect(error("", [Self.first, Self.second])?.code == .invalidDomainName)
        #expect(error("example.org", [])?.code == .emptyPins)
        #expect(error("example.org", [Self.first])?.code == .missingBackupPin)
        let invalid = error("example.org", [Self.first, "💩", "🔥"])
        #expect(invalid?.code == .invalidPins)
        #expect(invalid?.pins == ["💩", "🔥"])
        let repeated = error("example.org", [Self.first, Self.second, "sha256/" + Self.first])
        #expect(repeated?.code == .duplicatePins)
        #expect(repeated?.pins == [Self.first, "sha256/" + Self.first])
    }

    @Test("Reports the first fault in the order domain, number, format, repetition, backup")
    func order() {
        #expect(error("", [])?.code == .invalidDomainName)
        #expect(error("example.org", ["🔥"])?.code == .invalidPins)
        #expect(error("example.org", ["🔥", Self.first, Self.first])?.code == .invalidPins)
        #expect(error("example.org", [Self.first, Self.first])?.code == .duplicatePins)
    }

    @Test(
        "Rejects a domain that is neither a host name nor an address",
        arguments: [
            "*.example.org", "https://example.org", "example.org:443", "example.org/", "user@example.org",
            "exa mple.org",
            ".example.org", "example..org", "-example.org", "example-.org", "[::1", "[example.org]", "1.2.3", "127.1",
            "0x7f.0x1", "300.1.1.1", ".", String(repeating: "a", count: 64) + ".org", "b\u{fc}cher.example/x",
            "ex%61mple.org",
        ]
    )
    func invalidDomains(domain: String) {
        #expect(error(domain, [Self.first, Self.second])?.code == .invalidDomainName)
    }

    @Test(
        "Treats spellings of one domain as equal",
        arguments: [
            ("example.org", "EXAMPLE.org."), ("b\u{fc}cher.example", "xn--bcher-kva.EXAMPLE"),
            ("B\u{dc}CHER.example", "b\u{fc}cher.example"), ("[::1]", "0:0:0:0:0:0:0:1"), ("127.0.0.1", "127.0.0.1"),
        ]
    )
    func spellings(left: String, right: String) throws {
        let first = try PinningPolicy(domainName: left, pinnedHashes: [Self.first, Self.second])
        let second = try PinningPolicy(domainName: right, pinnedHashes: [Self.second], enforceBackupPin: false)
        #expect(first == second)
        #expect(first.hashValue == second.hashValue)
        let other = try PinningPolicy(domainName: "other.example", pinnedHashes: [Self.first, Self.second])
        #expect(first != other)
    }

    @Test("Requires at least one policy, and at most one for each domain")
    func configurations() throws {
        let empty = thrown(TrustConfigurationError.self) {
            _ = try ServerTrustEvaluator.Configuration(pinningPolicies: [PinningPolicy]())
        }
        #expect(empty?.code == .emptyPolicies)
        let policies = try ["example.org", "Example.ORG."].map {
            try PinningPolicy(domainName: $0, pinnedHashes: [Self.first, Self.second])
        }
        let duplicate = thrown(TrustConfigurationError.self) {
            _ = try ServerTrustEvaluator(configuration: .init(pinningPolicies: policies))
        }
        #expect(duplicate?.code == .duplicatePolicies)
        let configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: Set(policies))
        #expect(configuration.certificateCheckingOrder == .leafToRoot)
        #expect(!configuration.allowNotPinnedDomains)
        #expect(!configuration.allowExpiredDomainPolicies)
        #expect(configuration.enforcement == .enforced)
    }
}
