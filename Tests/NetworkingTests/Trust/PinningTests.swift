import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Pinning on connections", .limitedConcurrency)
struct PinningTests {
    private func tls(
        _ fixture: TLSFixture,
        pinning pins: [String],
        for domain: String = "localhost",
        subdomains: Bool = false,
        until expiration: Date = .distantFuture,
        _ adjust: (inout ServerTrustEvaluator.Configuration) -> Void = { _ in }
    ) throws -> TLSConfiguration {
        let policy = try PinningPolicy(
            domainName: domain,
            includeSubdomains: subdomains,
            expirationDate: expiration,
            pinnedHashes: pins,
            enforceBackupPin: false
        )
        var configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: [policy])
        adjust(&configuration)
        return try TLSConfiguration(
            trustRoots: fixture.roots,
            serverTrustEvaluator: ServerTrustEvaluator(configuration: configuration)
        )
    }

    private enum Place: CaseIterable {
        case leaf, intermediate, root

        func pin(_ fixture: TLSFixture) -> String {
            switch self {
            case .leaf: fixture.certificate.publicKeyPin
            case .intermediate: fixture.intermediate.publicKeyPin
            case .root: fixture.root.publicKeyPin
            }
        }
    }

    @Test(
        "Accepts a pin of the leaf, an intermediate or the root",
        .shows("P18", "0.29", "2.5", "2.23", "3.17", "RFC 7469 §2.4, §4.3"),
        arguments: Place.allCases
    )
    private func places(place: Place) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let pin = place.pin(fixture)
            let configurations = [
                try tls(fixture, pinning: [pin]), try tls(fixture, pinning: [PublicKeyPin.nobodys, pin]),
                try tls(fixture, pinning: [pin]) { $0.certificateCheckingOrder = .rootToLeaf },
            ]
            for configuration in configurations { try await expectRefusal(nil, by: server, configuration) }
            #expect(server.requestCount == configurations.count)
        }
    }

    @Test("Accepts the root's pin although the server doesn't send the root, for an address")
    func address() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let right = try tls(fixture, pinning: [fixture.root.publicKeyPin], for: "127.0.0.1")
            try await expectRefusal(nil, by: server, host: "127.0.0.1", right)
            let wrong = try tls(fixture, pinning: [PublicKeyPin.nobodys], for: "127.0.0.1")
            let seen = try [
                fixture.certificate.publicKeyPin, fixture.intermediate.publicKeyPin, fixture.root.publicKeyPin,
            ]
            .map { try #require(PublicKeyPin($0)) }
            try await expectRefusal(.pinMismatch(seen: seen), by: server, host: "127.0.0.1", wrong)
        }
    }

    @Test(
        "Sends no byte of the request to a server without a pinned key",
        .shows("H11", "Y7", "Z5", "1.41"),
        arguments: [LoopbackServer.TLS.Version.tls12, .tls13]
    )
    func wrongPin(version: LoopbackServer.TLS.Version) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer {
            $0.maximumVersion = version
        } _: { server in
            let error = try await refusal(by: server, try tls(fixture, pinning: [PublicKeyPin.nobodys]))
            #expect(error?.code == .tls)
            let seen = [fixture.certificate.publicKeyPin, fixture.intermediate.publicKeyPin, fixture.root.publicKeyPin]
            #expect(error?.tlsFailure == .pinMismatch(seen: seen.compactMap { PublicKeyPin($0) }))
            #expect(error?.message.contains(fixture.certificate.publicKeyPin) == true)
            #expect(try await server.receivedOctets() == 0)
            #expect(server.requestCount == 0)
            #expect(server.connections.count == 1)
        }
    }

    @Test("Rejects servers with an expired policy, even with the right pin, unless allowed", .shows("H13", "1.37"))
    func expiredPolicy() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let past = Date(timeIntervalSinceNow: -60)
            for pin in [fixture.certificate.publicKeyPin, PublicKeyPin.nobodys] {
                let strict = try tls(fixture, pinning: [pin], until: past)
                try await expectRefusal(.pinningPolicyExpired, by: server, strict, sendsNothing: true)
            }
            let lenient = try tls(fixture, pinning: [PublicKeyPin.nobodys], until: past) {
                $0.allowExpiredDomainPolicies = true
            }
            try await expectRefusal(nil, by: server, lenient)
        }
    }

    @Test("Rejects a host without a policy unless allowed", .shows("1.41"))
    func unpinnedHost() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let pins = [fixture.certificate.publicKeyPin]
            let strict = try tls(fixture, pinning: pins, for: "example.org")
            try await expectRefusal(.hostNotPinned, by: server, strict, sendsNothing: true)
            let lenient = try tls(fixture, pinning: pins, for: "example.org") { $0.allowNotPinnedDomains = true }
            try await expectRefusal(nil, by: server, lenient)
        }
    }

    @Test("Ignores pins of certificates outside the verified chain", .shows("H11", "1.32"))
    func otherChain() async throws {
        let fixture = try TLSFixture()
        let stranger = try MockCertificateAuthority(name: "Stranger")
        let certificate = try MockCertificate(
            chainPEM: fixture.certificate.chainPEM + stranger.certificatePEM,
            privateKeyPEM: fixture.certificate.privateKeyPEM
        )
        try await fixture.withServer(showing: certificate) { server in
            try await expectRefusal(
                .pinMismatch(seen: pinsOfChain(fixture)),
                by: server,
                tls(fixture, pinning: [stranger.publicKeyPin]),
                sendsNothing: true
            )
        }
    }

    @Test("Rejects an untrusted chain despite the right pin", .shows("H11", "1.32"))
    func untrustedChain() async throws {
        let fixture = try TLSFixture()
        let selfSigned = try MockCertificateAuthority.selfSignedServerCertificate()
        try await fixture.withServer(showing: selfSigned) { server in
            try await expectRefusal(
                .untrustedChain,
                by: server,
                tls(fixture, pinning: [selfSigned.publicKeyPin]),
                sendsNothing: true
            )
        }
    }

    @Test("Report-only mode reports a rejection and sends the request")
    func reportOnly() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let reports = Collected<ServerTrustEvaluator.Report>()
            let configuration = try tls(fixture, pinning: [PublicKeyPin.nobodys]) {
                $0.enforcement = .reportOnly
                $0.report = { reports.append($0) }
            }
            try await expectRefusal(nil, by: server, configuration)
            let chain = try pinsOfChain(fixture)
            let report = try #require(reports.all.first)
            #expect(reports.all.count == 1)
            #expect(report.finding == .refused(.pinMismatch(seen: chain)))
            #expect(report.chain == chain)
            #expect(report.host == "localhost")
            #expect(!report.isEnforced)
        }
    }

    @Test("Report-only mode still verifies the chain")
    func reportOnlyUntrusted() async throws {
        let fixture = try TLSFixture()
        let selfSigned = try MockCertificateAuthority.selfSignedServerCertificate()
        try await fixture.withServer(showing: selfSigned) { server in
            let configuration = try tls(fixture, pinning: [PublicKeyPin.nobodys]) { $0.enforcement = .reportOnly }
            try await expectRefusal(.untrustedChain, by: server, configuration)
        }
    }

    @Test("Reports enforced rejections, and a policy without a backup pin")
    func enforcedReports() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let reports = Collected<ServerTrustEvaluator.Report>()
            for pins in [
                [PublicKeyPin.nobodys], [fixture.certificate.publicKeyPin, fixture.root.publicKeyPin],
                [fixture.certificate.publicKeyPin, PublicKeyPin.nobodys],
            ] {
                _ = try await refusal(by: server, tls(fixture, pinning: pins) { $0.report = { reports.append($0) } })
            }
            #expect(
                reports.all.map(\.finding) == [.refused(.pinMismatch(seen: try pinsOfChain(fixture))), .noPinInReserve]
            )
            #expect(reports.all.map(\.isEnforced) == [true, true])
        }
    }

    // With TLS 1.3, because libcurl doesn't accept tickets with TLS 1.2. NginxTrustTests covers a
    // server with a session cache.
    @Test("Never resumes a session without checking the pins", .shows("H12"))
    func resumption() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            server.fallback { _ in .text("hello", headers: ["Connection": "close"]) }
            let reports = Collected<ServerTrustEvaluator.Report>()
            let pins = [fixture.certificate.publicKeyPin]
            let pinned = try tls(fixture, pinning: pins) { $0.report = { reports.append($0) } }
            try await withTLS(pinned) { transport in
                for _ in 0..<3 { _ = try await transport.get(server.url(for: "/", host: "localhost")) }
            }
            #expect(server.connections.map(\.isResumed) == [false, false, false])
            // One report for each handshake, because all pins are in use.
            #expect(reports.all.map(\.finding) == [.noPinInReserve, .noPinInReserve, .noPinInReserve])
        }
    }

    @Test("Resumes sessions without pins and identity")
    func resumptionWithoutPins() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            server.fallback { _ in .text("hello", headers: ["Connection": "close"]) }
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { transport in
                for _ in 0..<2 { _ = try await transport.get(server.url(for: "/", host: "localhost")) }
            }
            #expect(server.connections.map(\.isResumed) == [false, true])
        }
    }

    @Test("Reuses connections with pins, but not across transports", .shows("H12"))
    func reuse() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { open in
                let url = server.url(for: "/", host: "localhost")
                for _ in 0..<2 { _ = try await open.get(url) }
                #expect(server.acceptedConnectionCount == 1)
                let error = try await refusal(by: server, try tls(fixture, pinning: [PublicKeyPin.nobodys]))
                #expect(error?.code == .tls)
                #expect(server.acceptedConnectionCount == 2)
                try await withTLS(try tls(fixture, pinning: [fixture.root.publicKeyPin])) { pinned in
                    for _ in 0..<2 { _ = try await pinned.get(url) }
                }
                #expect(server.acceptedConnectionCount == 3)
            }
        }
    }

    private func pinsOfChain(_ fixture: TLSFixture) throws -> [PublicKeyPin] {
        try Place.allCases.map { try #require(PublicKeyPin($0.pin(fixture))) }
    }
}

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
                try await expectRefusal(
                    .pinMismatch(seen: pins.compactMap { PublicKeyPin($0) }),
                    by: server,
                    tls(root, PublicKeyPin.nobodys)
                )
            }
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
                try await expectRefusal(
                    expected,
                    by: server,
                    TLSConfiguration(trustRoots: fixture.roots),
                    sendsNothing: true
                )
            }
        }
    }
}
