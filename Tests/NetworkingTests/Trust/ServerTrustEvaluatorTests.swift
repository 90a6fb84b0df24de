import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("ServerTrustEvaluator", .computing)
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

    @Test("Accepts a pin of any certificate in the chain", .shows("3.19"))
    func anyCertificate() throws {
        for pin in chain {
            #expect(try result("example.org", [policy("example.org", other, pin)]) == .success(.pinned(pin)))
        }
    }

    @Test("Rejects a server without a pin in its chain, and reports the chain's pins", .shows("1.42"))
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

    @Test("The checking order decides which of several pins is the match", .shows("1.38"))
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
        .shows("1.39"),
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

    @Test("Matches international names in either form", .shows("RFC 5890"))
    func internationalNames() throws {
        let policies = [try policy("b\u{fc}cher.example", leaf, subdomains: true)]
        #expect(try result("xn--bcher-kva.example", policies) == .success(.pinned(leaf)))
        #expect(try result("www.XN--BCHER-KVA.example", policies) == .success(.pinned(leaf)))
        #expect(try result("bucher.example", policies) == .failure(.hostNotPinned))
    }

    @Test("Matches addresses, which have no subdomains", .shows("1.39"))
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

    @Test("Rejects a malformed host even if hosts without a policy are allowed", arguments: ["", "127.1"])
    func unreadableHost(host: String) throws {
        let policies = [try policy("example.org", leaf)]
        #expect(try result(host, policies) { $0.allowNotPinnedDomains = true } == .failure(.hostNotPinned))
    }

    @Test("An expired policy rejects right and wrong pins, unless allowed", .shows("H13", "1.40"))
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
        #expect(throws: TLSFailure.pinMismatch(seen: [])) {
            try evaluator.evaluate(host: "example.org", chain: [], at: now)
        }
    }
}

@Suite("PinningPolicy", .computing)
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

    @Test("Accepts two pins, or one without a required backup", .shows("1.35"))
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
        let policy = try PinningPolicy(
            domainName: "github.com",
            includeSubdomains: true,
            expirationDate: Date(timeIntervalSince1970: 1_952_035_200),
            pinnedHashes: set,
            enforceBackupPin: false
        )
        #expect(Set(policy.pins.map(\.description)) == Set(set.map { "sha256/" + $0 }))
    }

    @Test("Reports missing input by its code", .shows("1.35"))
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
        .shows("1.36"),
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

    @Test("Requires at least one policy, and at most one for each domain", .shows("1.37"))
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

@Suite("PublicKeyPin", .computing)
struct PublicKeyPinTests {
    private static let base64 = "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI="

    @Test("Parses a pin with and without its prefix, and prints it with the prefix")
    func forms() throws {
        let pin = try #require(PublicKeyPin(Self.base64))
        #expect(PublicKeyPin("sha256/" + Self.base64) == pin)
        #expect(pin.description == "sha256/" + Self.base64)
    }

    @Test(
        "Rejects anything but 32 bytes in base64",
        arguments: [
            "", "sha256/", "💩", "AAAA", "sha1/" + base64, "sha256/sha256/" + base64, "SHA256/" + base64,
            "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI", " " + base64, base64 + "\n",
            "--MBgDH5WGvL9Bcn5Be30cRcL0f5O-NyoXuWtQdX1aI=", base64 + "AAAA",
            "e3e3018031f9586bcbf41727e417b7d1c45c2f47f93be372a17b96b50757d5a2",
        ]
    )
    func malformed(text: String) {
        #expect(PublicKeyPin(text) == nil)
    }

    @Test(
        "Computes the pin of a certificate's key of every kind",
        .shows("1.33", "1.34", "RFC 7469 §2.4, §4.3"),
        arguments: [MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519]
    )
    func certificates(keyType: MockCertificate.KeyType) throws {
        let certificate = try MockCertificateAuthority().issueServerCertificate(keyType: keyType)
        let pin = try PublicKeyPin(certificate: certificate.certificateDER)
        #expect(pin.description == certificate.publicKeyPin)
        #expect(try PublicKeyPin(certificate: Data(certificate.chainPEM.utf8)) == pin)
    }

    @Test("Computes the published pin of a public root", .shows("3.18"))
    func knownRoot() throws {
        // Amazon Root CA 3, from https://www.amazontrust.com/repository/.
        let pem = """
            -----BEGIN CERTIFICATE-----
            MIIBtjCCAVugAwIBAgITBmyf1XSXNmY/Owua2eiedgPySjAKBggqhkjOPQQDAjA5
            MQswCQYDVQQGEwJVUzEPMA0GA1UEChMGQW1hem9uMRkwFwYDVQQDExBBbWF6b24g
            Um9vdCBDQSAzMB4XDTE1MDUyNjAwMDAwMFoXDTQwMDUyNjAwMDAwMFowOTELMAkG
            A1UEBhMCVVMxDzANBgNVBAoTBkFtYXpvbjEZMBcGA1UEAxMQQW1hem9uIFJvb3Qg
            Q0EgMzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCmXp8ZBf8ANm+gBG1bG8lKl
            ui2yEujSLtf6ycXYqm0fc4E7O5hrOXwzpcVOho6AF2hiRVd9RFgdszflZwjrZt6j
            QjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgGGMB0GA1UdDgQWBBSr
            ttvXBp43rDCGB5Fwx5zEGbF4wDAKBggqhkjOPQQDAgNJADBGAiEA4IWSoxe3jfkr
            BqWTrBqYaGFy+uGh0PsceGCmQ5nFuMQCIQCcAu/xlJyzlvnrxir4tiz+OpAUFteM
            YyRIHN8wfdVoOw==
            -----END CERTIFICATE-----
            """
        let pin = try PublicKeyPin(certificate: Data(pem.utf8))
        #expect(pin.description == "sha256/NqvDJlas/GRcYbcWE8S/IceH9cq77kg0jVhZeAPXq8k=")
    }

    @Test("Rejects data that isn't a certificate")
    func noCertificate() throws {
        let key = try MockCertificateAuthority().issueServerCertificate().privateKeyPEM
        for octets in [Data(), Data("hello".utf8), Data(key.utf8), Data([0x30, 0x03, 0x02, 0x01, 0x00])] {
            let error = thrown(TrustConfigurationError.self) { _ = try PublicKeyPin(certificate: octets) }
            #expect(error?.code == .malformedCertificate)
        }
    }
}
