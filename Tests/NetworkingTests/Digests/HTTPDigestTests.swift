import Foundation
import Networking
import TestSupport
import TestVectors
import Testing

@Suite("HTTPDigest", .computing)
struct HTTPDigestTests {
    struct File: Decodable {
        let cases: [Example]
        let ours: [Own]
    }

    struct Example: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let alg: String
        let printed: String
        let text: String?
        let hexadecimal: String?
        let derived: String?
        let must: String

        enum CodingKeys: String, CodingKey {
            case id, alg, must
            case printed = "printed_b64"
            case text = "digested_utf8"
            case hexadecimal = "digested_hex"
            case derived = "derived_b64"
        }

        var testDescription: String { id }

        var content: Data {
            if let text { return Data(text.utf8) }
            let digits = (hexadecimal ?? "").compactMap(\.hexDigitValue)
            return Data(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
        }
    }

    struct Own: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let field: String
        let value: String
        let text: String?
        let must: String

        enum CodingKeys: String, CodingKey {
            case id, field, value, must
            case text = "content_utf8"
        }

        var testDescription: String { id }
        var content: Data { Data((text ?? "").utf8) }
    }

    private static let file = try? Vector.decode("rfc9530-digests", as: File.self)
    private static let malformed = NetworkError(.invalidField, "")

    @Test("All vectors are read")
    func completeness() {
        #expect(Self.file?.cases.count == 15)
        #expect(Self.file?.ours.count == 7)
    }

    @Test(
        "The RFC's digests match, except those with errors",
        .shows("RFC 9530 §2, §3 (fields)"),
        arguments: file?.cases ?? []
    )
    func example(_ example: Example) throws {
        let algorithm = try #require(HTTPDigest.Algorithm(rawValue: example.alg))
        let right = example.must == "match" ? example.printed : try #require(example.derived)
        let value = "\(example.alg)=:\(right):"
        let digest = try #require(try HTTPDigest(parsing: [value]))
        #expect(try digest.matches(example.content))
        #expect(try HTTPDigest(of: example.content, by: algorithm) == digest)
        #expect(digest.fieldValue == value && digest.algorithms == [algorithm])
        #expect(digest[algorithm] == Data(base64Encoded: right))
        #expect(try !digest.matches(example.content + [0]))
        let printed = ["\(example.alg)=:\(example.printed):"]
        switch example.must.prefix(6) {
        case "match": break
        case "reject": #expect(throws: Self.malformed) { try HTTPDigest(parsing: printed) }
        case "do not": #expect(try HTTPDigest(parsing: printed)?.matches(example.content) == false)
        default: Issue.record("an unknown result: \(example.must)")
        }
    }

    @Test("Our own cases have the expected result", .shows("RFC 9530 §2, §3 (fields)"), arguments: file?.ours ?? [])
    func own(_ own: Own) throws {
        let headers = HTTPHeaders([HTTPHeaders.Field(name: own.field, value: own.value)])
        switch own.id {
        case "two-algorithms":
            let digest = try #require(try HTTPDigest(.content, in: headers))
            #expect(try digest.matches(own.content))
            #expect(digest.algorithms == [.sha256, .sha512] && digest.fieldValue == own.value)
        case "one-good-one-bad":
            let digest = try #require(try HTTPDigest(.content, in: headers))
            #expect(try !digest.matches(own.content))
        case "only-deprecated", "unknown-algorithm", "legacy-digest-field":
            #expect(try HTTPDigest(.content, in: headers) == nil)
            #expect(try HTTPDigest(.representation, in: headers) == nil)
        case "not-bytes": #expect(throws: Self.malformed) { try HTTPDigest(.content, in: headers) }
        case "want":
            let preferences = try HTTPDigest.Preferences(parsing: headers.values(for: own.field))
            #expect(preferences.algorithms == [.sha256])
            #expect(preferences.fieldValue == own.value)
        default: Issue.record("an unknown case: \(own.id)")
        }
    }

    @Test(
        "A malformed field is an error that names the field",
        arguments: [
            "sha-256", "sha-256=?1", "sha-256=1", "sha-512=()", "sha-256=:é:", "SHA-256=:AAAA:", "sha-256=:AAAA:,",
            "sha-256=AAAA", "md5=", "sha-256=:A:", "sha-256=(:AAAA:)",
        ]
    )
    func malformed(value: String) {
        let error = expectThrown(.invalidField) { try HTTPDigest(.representation, in: ["Repr-Digest": value]) }
        #expect(error?.message.hasPrefix("Repr-Digest: ") == true)
    }

    @Test("Lines and parameters are read, other algorithms ignored, and of a repeated one, the last digest counts")
    func lines() throws {
        let (digest, wrong) = (try HTTPDigest(of: Data("x".utf8)), try HTTPDigest(of: Data("y".utf8)))
        let headers: HTTPHeaders = [
            "Content-Digest": "md5=1, unixsum=30637", "content-digest": digest.fieldValue + ";q=1",
        ]
        #expect(try HTTPDigest(.content, in: headers) == digest)
        #expect(try HTTPDigest(parsing: []) == nil && HTTPDigest(parsing: [""]) == nil)
        #expect(try HTTPDigest(parsing: [wrong.fieldValue, digest.fieldValue]) == digest)
    }

    @Test("Digests are computed from parts, and of zero bytes")
    func parts() throws {
        let content = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
        let hasher = try HTTPDigest.Hasher([.sha256, .sha512])
        for start in stride(from: 0, to: content.count, by: 777) {
            try hasher.update(content[start..<min(start + 777, content.count)])
        }
        let digest = try hasher.finish()
        #expect(try digest.matches(content) && digest.algorithms == [.sha256, .sha512])
        #expect(try digest[.sha512] == HTTPDigest(of: content, by: .sha512)[.sha512])
        #expect(try HTTPDigest(of: Data()).fieldValue == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        let again = try digest.hasher()
        try again.update(content)
        #expect(try again.finish() == digest)
    }

    @Test(
        "Preferences are ordered by weight, then by position",
        .shows("RFC 9530 §4"),
        arguments: [
            (["sha-512=3, sha-256=10, unixsum=0"], [.sha256, .sha512]),
            (["sha-512=5", "sha-256=5"], [.sha512, .sha256]),
            (["sha-256=0"], []), ([], []),
        ] as [([String], [HTTPDigest.Algorithm])]
    )
    func order(_ lines: [String], _ algorithms: [HTTPDigest.Algorithm]) throws {
        #expect(try HTTPDigest.Preferences(parsing: lines).algorithms == algorithms)
        #expect(HTTPDigest.Preferences([.sha512, .sha256]).fieldValue == "sha-512=10, sha-256=9")
        #expect(HTTPDigest.Preferences([]).fieldValue.isEmpty)
    }

    @Test(
        "Other weights than 0 to 10 are malformed",
        arguments: [
            "sha-256", "sha-256=11", "sha-256=-1", "sha-256=1.0", "sha-256=:AA==:", "sha-999=11", "sha-256=(1)",
        ]
    )
    func wrongWeights(value: String) {
        #expect(throws: Self.malformed) { try HTTPDigest.Preferences(parsing: [value]) }
    }
}
