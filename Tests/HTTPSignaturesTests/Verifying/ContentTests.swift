import Foundation
import Networking
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.serialized)
struct ContentTests {
    private static var body: Data { SignatureFixture.body }

    private struct Parts: AsyncSequence, Sendable {
        let parts: [Data]
        struct Iterator: AsyncIteratorProtocol {
            var parts: ArraySlice<Data>
            mutating func next() async -> Data? { parts.popFirst() }
        }
        func makeAsyncIterator() -> Iterator { Iterator(parts: parts[...]) }
    }

    private func streamed(
        _ fixture: SignatureFixture,
        _ message: HTTPMessage,
        _ parts: [Data]
    ) async throws -> (received: Data, error: HTTPSignatureError.Code?) {
        let (verified, body) = try await fixture.verifier().verify(message, streaming: Parts(parts: parts))
        #expect(verified.keyID == "k1")
        var received = Data()
        do {
            for try await part in body { received += part }
            return (received, nil)
        } catch {
            return (received, (error as? HTTPSignatureError)?.code)
        }
    }

    @Test("rejects another body under a covered digest")
    func changedBody() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        for other in [Data(), Self.body + [0], Data(Self.body.dropLast()), Data(Self.body.reversed())] {
            let error = try #require(try await fixture.error(message, body: other))
            #expect(error.code == .digestMismatch)
            #expect(error.status == 400)
        }
    }

    @Test("rejects a body that the signature doesn't cover, if the profile requires that")
    func uncoveredBody() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(try await fixture.error(message, body: Self.body)?.code == .insufficientCoverage)
        var open = fixture
        open.profile.components = [.required(.method), .required(.targetURI)]
        // Without the requirement, the body is anyone's.
        #expect(try await open.error(message, body: Self.body) == nil)
    }

    @Test("requires a digest of empty content if the profile does")
    func emptyContent() async throws {
        let fixture = try SignatureFixture(.legacyRSAFree)
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(message.headers["Content-Digest"] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        #expect(try await fixture.error(message, body: Data()) == nil)
        #expect(try await fixture.error(message, body: Self.body)?.code == .digestMismatch)
    }

    @Test("checks all supported digests of the field, and ignores the others")
    func severalDigests() async throws {
        let fixture = try SignatureFixture()
        let sha256 = try HTTPDigest(of: Self.body).fieldValue
        let sha512 = try HTTPDigest(of: Self.body, by: .sha512).fieldValue
        let wrong = try HTTPDigest(of: Data(), by: .sha512).fieldValue
        for (value, expected) in [
            ("\(sha256), \(sha512)", nil), ("\(sha512), md5=:AA==:", nil), ("\(sha256), unknown=1", nil),
            ("\(sha256), \(wrong)", .digestMismatch),
        ] as [(String, HTTPSignatureError.Code?)] {
            let message = fixture.message.with("Content-Digest", value)
            if expected == nil {
                let signed = try await fixture.signed(message)
                #expect(signed.headers["Content-Digest"] == value)
                #expect(try await fixture.error(signed) == nil)
            } else {
                await #expect(throws: HTTPSignatureError(.digestMismatch, "")) { _ = try await fixture.signed(message) }
            }
        }
        for value in ["md5=:AA==:", "sha=:AA==:, unixsum=1", ""] {
            await #expect(throws: HTTPSignatureError(.unsupportedDigest, "")) {
                _ = try await fixture.signed(fixture.message.with("Content-Digest", value))
            }
        }
        await #expect(throws: HTTPSignatureError(.malformedComponent, "")) {
            _ = try await fixture.signed(fixture.message.with("Content-Digest", "sha-256=1"))
        }
    }

    @Test("a signed field with weak digests only isn't accepted")
    func weakDigest() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [.required(.method), .required(ComponentIdentifier("content-digest").binary)]
        let message = fixture.message.with("Content-Digest", "md5=:AA==:")
        let components = fixture.profile.coverage(of: message, hasContent: true)
        let parameters = SignatureParameters(
            components: components,
            parameters: .init([("created", .integer(1_700_000_000)), ("keyid", .string("k1")), ("nonce", .string("n"))])
        )
        let base = try SignatureBase(of: message, parameters: parameters)
        let signature = try await AnySigningService.local(fixture.key).signature(for: base)
        let signed = message.with("Signature-Input", "sig1=" + (try parameters.serialized()))
            .with("Signature", "sig1=:\(signature.base64EncodedString()):")
        #expect(try await fixture.error(signed)?.code == .unsupportedDigest)
    }

    @Test("a covered member of the field is checked alone")
    func coveredMember() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [
            .required(.method), .ifContent(ComponentIdentifier("content-digest").member("sha-512")),
        ]
        fixture.profile.digestAlgorithm = .sha512
        let message = try await fixture.signed()
        #expect(try await fixture.error(message) == nil)
        // The other member isn't signed, so it doesn't count.
        let added = message.changing("Content-Digest") { "sha-256=:AAAA:, \($0)" }
        #expect(try await fixture.error(added) == nil)
        #expect(try await fixture.error(added, body: Data("x".utf8))?.code == .digestMismatch)
    }

    @Test("streamed content throws at its end if it isn't the signed one")
    func streaming() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let parts = [Data(Self.body.prefix(5)), Data(), Data(Self.body.dropFirst(5))]
        #expect(try await streamed(fixture, message, parts) == (Self.body, nil))
        #expect(try await streamed(fixture, message, [Self.body, Data([0])]).error == .digestMismatch)
        #expect(try await streamed(fixture, message, []).error == .digestMismatch)
        // The parts arrive before the error.
        #expect(try await streamed(fixture, message, [Data("x".utf8)]) == (Data("x".utf8), .digestMismatch))
    }

    @Test("streamed content that isn't covered must be empty, and its header must not say otherwise")
    func uncoveredStream() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(try await streamed(fixture, message, []) == (Data(), nil))
        #expect(try await streamed(fixture, message, [Data(), Self.body]) == (Data(), .insufficientCoverage))
        for (name, value) in [("Content-Length", "3"), ("Transfer-Encoding", "chunked")] {
            await #expect(throws: HTTPSignatureError(.insufficientCoverage, "")) {
                _ = try await streamed(fixture, message.with(name, value), [])
            }
        }
        #expect(try await streamed(fixture, message.with("Content-Length", "0"), []).error == nil)
    }

    @Test("the errors of the body itself are passed on")
    func streamErrors() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let stream = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("{".utf8))
            continuation.finish(throwing: NetworkError(.connectionLost, "lost"))
        }
        let body = try await fixture.verifier().verify(message, streaming: stream).body
        await #expect(throws: NetworkError(.connectionLost, "")) { for try await _ in body {} }
    }
}

extension SignatureProfile {
    /// The profile of ActivityPub without its restriction to RSA.
    fileprivate static var legacyRSAFree: Self {
        var profile = legacyActivityPub
        profile.algorithms = nil
        return profile
    }
}
