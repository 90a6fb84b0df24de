import Foundation
import MockNetworking
import Networking
import Synchronization
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

/// A key, a clock and a message that the tests sign and verify.
struct SignatureFixture {
    /// 2023-11-14T22:13:20Z.
    static let date = Date(timeIntervalSince1970: 1_700_000_000)
    // LeakSanitizer can't see the storage of a static `Data` or key.
    static var body: Data { Data(#"{"hello": "world"}"#.utf8) }

    /// The key of RFC 8037 A.1.
    private static let jwk =
        #"{"kty":"OKP","crv":"Ed25519","kid":"k1","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","#
        + #""x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    /// The key of RFC 7515 A.3.
    private static let otherJWK =
        #"{"kty":"EC","crv":"P-256","kid":"other","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI","#
        + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#

    let key: SigningKey
    let other: SigningKey
    var profile: SignatureProfile
    var keys: SignatureKeys

    init(_ profile: SignatureProfile = .standard) throws {
        key = try SigningKey(jwk: JWK(parsing: Self.jwk), algorithm: .ed25519)
        other = try SigningKey(jwk: JWK(parsing: Self.otherJWK), algorithm: .es256)
        self.profile = profile
        keys = SignatureKeys(key.verificationKey, other.verificationKey)
    }

    static let headers: HTTPHeaders = [
        "Host": "api.example", "Content-Type": "application/json", "Authorization": "Bearer abc", "DPoP": "proof",
        "X-Extra": "1",
    ]

    var message: HTTPMessage {
        HTTPMessage(method: .post, url: "https://api.example/orders?open=1", headers: Self.headers)
    }

    var get: HTTPMessage {
        HTTPMessage(method: .get, url: "https://api.example/orders", headers: ["Authorization": "Bearer abc"])
    }

    func signer(_ key: SigningKey? = nil, at date: Date = Self.date) throws -> MessageSigner {
        var signer = try MessageSigner(key: key ?? self.key, profile: profile)
        signer.currentDate = { date }
        return signer
    }

    func verifier(
        cache: (any ReplayCache)? = InMemoryReplayCache(),
        at date: Date = Self.date
    ) throws -> MessageVerifier {
        var verifier = try MessageVerifier(profile: profile, keys: keys, replayCache: cache)
        verifier.currentDate = { date }
        return verifier
    }

    func signed(
        _ message: HTTPMessage? = nil,
        body: Data = Self.body,
        by key: SigningKey? = nil,
        at date: Date = Self.date
    ) async throws -> HTTPMessage {
        let message = message ?? self.message
        return message.setting(try await signer(key, at: date).sign(message, body: body.isEmpty ? .none : .data(body)))
    }

    /// Returns the message with a signature that has `expires` but not `created`.
    func signedWithoutCreation() async throws -> HTTPMessage {
        let message = try await signed()
        let fields = try SignatureFields(message.headers)
        var parameters = try fields.signature("sig1").parameters
        parameters.parameters["created"] = nil
        let base = try SignatureBase(of: message, parameters: parameters)
        let signature = try await key.signature(for: base)
        return message.with("Signature-Input", "sig1=\(base.serializedParameters)")
            .with("Signature", "sig1=:\(signature.base64EncodedString()):")
    }

    /// Returns the error of verifying a message, or `nil` if it verifies.
    func error(
        _ message: HTTPMessage,
        body: Data = Self.body,
        at date: Date = Self.date
    ) async throws -> HTTPSignatureError? {
        let verifier = try verifier(at: date)
        do {
            _ = try await verifier.verify(message, body: body)
            return nil
        } catch {
            return error
        }
    }
}

extension HTTPMessage {
    /// Returns the message with another value of a field, or without it.
    func with(_ name: String, _ value: String?) -> Self {
        var message = self
        message.headers[name] = value
        return message
    }

    /// Returns the message with a field changed by a closure.
    func changing(_ name: String, _ change: (String) -> String) -> Self {
        with(name, change(headers[name] ?? ""))
    }
}

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

/// A loopback server that verifies the signatures of the requests it receives.
final class SigningServer: Sendable {
    struct Record: Sendable {
        let request: LoopbackRequest
        let result: Result<VerifiedMessage, HTTPSignatureError>

        var code: HTTPSignatureError.Code? {
            if case .failure(let error) = result { error.code } else { nil }
        }
        var input: String { request.headers["Signature-Input"] ?? "" }
    }

    let server: LoopbackServer
    private let records = Mutex<[Record]>([])

    init(_ server: LoopbackServer) {
        self.server = server
    }

    var requests: [Record] { records.withLock { $0 } }

    /// Verifies a request over the bytes that arrived.
    func verify(
        _ request: LoopbackRequest,
        _ verifier: MessageVerifier
    ) async -> Result<VerifiedMessage, HTTPSignatureError> {
        let message = HTTPMessage(
            method: request.method,
            target: request.target,
            at: server.baseURL.absoluteString,
            headers: request.headers,
            trailers: request.trailers
        )
        let result: Result<VerifiedMessage, HTTPSignatureError>
        do throws(HTTPSignatureError) {
            result = .success(try await verifier.verify(message, body: request.body))
        } catch {
            result = .failure(error)
        }
        records.withLock { $0.append(Record(request: request, result: result)) }
        return result
    }

    /// Adds a route that answers verified requests with a closure, and others as the error says.
    func on(
        _ path: String,
        _ verifier: MessageVerifier,
        _ respond: @escaping @Sendable (LoopbackRequest, VerifiedMessage) async throws -> LoopbackResponse
    ) {
        server.onAnyMethod(path) { [self] request in
            switch await verify(request, verifier) {
            case .success(let verified): return try await respond(request, verified)
            case .failure(let error): return .status(error.status, headers: error.headers)
            }
        }
    }
}
