import Foundation
import Networking
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

/// A message of the vectors of RFC 9421.
struct MessageVector: Decodable, Sendable {
    let startLine: String
    let scheme: String?
    let fields: [[String]]
    let content: String?
    let trailers: [[String]]?

    enum CodingKeys: String, CodingKey {
        case startLine = "start_line"
        case scheme, fields, trailers
        case content = "content_utf8"
    }

    var body: Data { Data((content ?? "").utf8) }

    func message(request: MessageVector? = nil) throws -> HTTPMessage {
        let parts = startLine.split(separator: " ", maxSplits: 2).map(String.init)
        let (headers, trailers) = (Self.headers(fields), Self.headers(trailers ?? []))
        if parts[0].hasPrefix("HTTP/") {
            return HTTPMessage(
                status: try #require(Int(parts[1])),
                headers: headers,
                trailers: trailers,
                request: try request?.message()
            )
        }
        return HTTPMessage(
            method: try #require(HTTPMethod(parts[0])),
            target: parts[1],
            at: "\(scheme ?? "https")://\(headers["Host"] ?? "www.example.com")",
            headers: headers,
            trailers: trailers
        )
    }

    private static func headers(_ fields: [[String]]) -> HTTPHeaders {
        HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0[0], value: $0[1]) })
    }
}

/// A signature of the vectors of RFC 9421.
struct SignatureVector: Decodable, Sendable, CustomTestStringConvertible {
    let id: String
    let keyid: String
    let alg: String
    let label: String
    let message: MessageVector
    let request: MessageVector?
    let parameters: String
    let base: String
    let signature: String
    let must: String

    enum CodingKeys: String, CodingKey {
        case id, keyid, alg, label, message, request, must
        case parameters = "signature_params"
        case base = "signature_base"
        case signature = "signature_b64"
    }

    var testDescription: String { id }
    var isValid: Bool { must == "valid" }

    private struct File: Decodable { let cases: [SignatureVector] }

    static let all = (try? Vector.decode("rfc9421-signatures", as: File.self))?.cases ?? []

    static func named(_ id: String) throws -> SignatureVector { try #require(all.first { $0.id == id }) }

    func httpMessage() throws -> HTTPMessage { try message.message(request: request) }

    func signatureParameters() throws -> SignatureParameters {
        try SignatureParameters(StructuredField.InnerList(parsing: [parameters]))
    }
}

/// The published keys of RFC 9421 Appendix B.1.
enum TestKey {
    private static let keys = (try? JSONObject(parsing: Vector.data("rfc9421-keys")))?["keys"]?.object ?? [:]

    private static func algorithm(_ name: String) -> JWSAlgorithm {
        switch name {
        case "test-key-rsa": .rs256
        case "test-key-rsa-pss": .ps512
        case "test-key-ecc-p256": .es256
        case "test-shared-secret": .hs256
        default: .ed25519
        }
    }

    static func signing(_ name: String) throws -> SigningKey {
        let members = try #require(keys[name]?.object)
        if let secret = members["secret_b64"]?.string {
            return try SigningKey(secret: try #require(Data(base64Encoded: secret)), algorithm: .hs256)
                .identified(by: name)
        }
        let jwk = try JWK(try #require(members["jwk"]?.object))
        return try SigningKey(jwk: jwk, algorithm: algorithm(name))
    }

    static func verification(_ name: String) throws -> VerificationKey { try signing(name).verificationKey }

    static func pem(_ name: String, _ label: String) throws -> String {
        let text = try #require(keys[name]?.object?["pem"]?.object?[label]?.string)
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }

    static let names = [
        "test-key-rsa", "test-key-rsa-pss", "test-key-ecc-p256", "test-key-ed25519", "test-shared-secret",
    ]

    /// All keys, by their names.
    static func all() throws -> SignatureKeys {
        let keys = try Dictionary(uniqueKeysWithValues: names.map { ($0, try verification($0)) })
        return SignatureKeys { query in query.keyID.flatMap { keys[$0] } }
    }
}
