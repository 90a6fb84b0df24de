import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of chains with every kind of key, including malformed chains.
@Suite("Pins and chains", .limitedConcurrency)
struct PinnedChainTests {
    private func tls(
        _ root: MockCertificateAuthority,
        _ pin: String,
        for domain: String = "localhost",
        until expiration: Date = .distantFuture
    ) throws -> TLSConfiguration {
        let policy = try PinningPolicy(
            domainName: domain,
            includeSubdomains: true,
            expirationDate: expiration,
            pinnedHashes: [pin],
            enforceBackupPin: false
        )
        return TLSConfiguration(
            trustRoots: try .pem(root.certificatePEM),
            serverTrustEvaluator: try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
        )
    }

    @Test(
        "Pins keys of every kind, and ignores repeated and unnecessary certificates",
        arguments: [MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519]
    )
    func kinds(keyType: MockCertificate.KeyType) async throws {
        let fixture = try TLSFixture()
        let root = try MockCertificateAuthority(name: "Root", keyType: .rsa2048)
        let intermediate = try root.makeIntermediate(name: "Intermediate", keyType: keyType)
        let leaf = try intermediate.issueServerCertificate(keyType: keyType)
        let pins = [leaf.publicKeyPin, intermediate.publicKeyPin, root.publicKeyPin]
        let (first, second, last) = (leaf.certificatePEM, intermediate.certificatePEM, root.certificatePEM)
        for chain in [first + second, first + first + second + second, first + last + second] {
            let shown = try MockCertificate(chainPEM: chain, privateKeyPEM: leaf.privateKeyPEM)
            try await fixture.withServer(showing: shown) { server in
                for pin in pins { #expect(try await refusal(by: server, tls(root, pin)) == nil) }
                let error = try await refusal(by: server, tls(root, PublicKeyPin.nobodys))
                #expect(error?.tlsFailure == .pinMismatch(seen: pins.compactMap { PublicKeyPin($0) }))
            }
        }
    }

    @Test(
        "Rejects expired policies, untrusted chains and foreign certificates for subdomains, too"
    )
    func subdomains() async throws {
        let fixture = try TLSFixture()
        let host = "a.tenant.localhost"
        let stranger = try MockCertificateAuthority(name: "Stranger")
        let padded = try MockCertificate(
            chainPEM: fixture.certificate.chainPEM + stranger.certificatePEM,
            privateKeyPEM: fixture.certificate.privateKeyPEM
        )
        try await fixture.withServer(showing: padded) { server in
            let pin = fixture.certificate.publicKeyPin
            for pin in [pin, fixture.intermediate.publicKeyPin, fixture.root.publicKeyPin] {
                #expect(try await refusal(by: server, host: host, tls(fixture.root, pin)) == nil)
            }
            let expired = try tls(fixture.root, pin, until: Date(timeIntervalSinceNow: -60))
            #expect(try await refusal(by: server, host: host, expired)?.tlsFailure == .pinningPolicyExpired)
            let other = try await refusal(by: server, host: host, tls(fixture.root, stranger.publicKeyPin))
            guard case .pinMismatch = other?.tlsFailure else {
                Issue.record("\(String(describing: other))")
                return
            }
            let untrusted = try await refusal(by: server, host: host, tls(stranger, pin))
            #expect(untrusted?.tlsFailure == .untrustedChain)
            // Neither the parent nor a sibling of the policy's domain.
            for domain in [host, "b.tenant.localhost", "x.\(host)"] {
                let error = try await refusal(by: server, host: "localhost", tls(fixture.root, pin, for: domain))
                #expect(error?.tlsFailure == .hostNotPinned)
            }
            #expect(server.requestCount == 3)
        }
    }

    @Test("Rejects a chain with an expired certificate or one with the wrong purpose")
    func links() async throws {
        let fixture = try TLSFixture()
        let now = Date()
        let (before, after) = ((now - 7200, now - 3600), (now + 3600, now + 7200))
        let old = try fixture.root.makeIntermediate(notBefore: before.0, notAfter: before.1)
        let young = try fixture.root.makeIntermediate(notBefore: after.0, notAfter: after.1)
        for (certificate, expected) in [
            (try old.issueServerCertificate(), TLSFailure.certificateExpired),
            (try young.issueServerCertificate(), .certificateNotYetValid),
            (try fixture.intermediate.issueClientCertificate(name: "localhost"), .untrustedChain),
        ] {
            try await fixture.withServer(showing: certificate) { server in
                let error = try await refusal(by: server, TLSConfiguration(trustRoots: fixture.roots))
                #expect(error?.tlsFailure == expected)
                #expect(try await server.receivedOctets() == 0)
            }
        }
    }
}
