import Foundation
import FoundationNetworking
import HTTPSignatures
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

/// http-message-signatures, as a server and as a client: `Tests/Interop/signature_peer.py`.
enum SignaturePeer {
    /// The owner of a key.
    enum Owner: String { case client, server }

    static let algorithms: [JWSAlgorithm] = [.ed25519, .es256, .es384, .ps512, .rs256, .hs256]

    /// Returns a key that both sides know, with its ID.
    static func key(_ algorithm: JWSAlgorithm, of owner: Owner) throws -> SigningKey {
        let file = URL(filePath: try Interop.required("INTEROP_FOLDER") + "/signature-keys")
        let stored = try JSONDecoder().decode([String: [String: StoredKey]].self, from: Data(contentsOf: file))
        let name = try self.name(of: algorithm)
        let key = try #require(stored[owner.rawValue]?[name])
        let loaded: SigningKey
        if let pem = key.pem {
            loaded = try SigningKey(pem: pem, algorithm: algorithm)
        } else {
            let secret = try #require(key.secret.flatMap { Data(base64Encoded: $0) })
            loaded = try SigningKey(secret: secret, algorithm: algorithm)
        }
        return loaded.identified(by: "\(owner.rawValue)-\(name)")
    }

    /// Returns the algorithm's name in `alg`, which is also the last part of a path.
    static func name(of algorithm: JWSAlgorithm) throws -> String { try #require(algorithm.httpSignatureName) }

    private struct StoredKey: Decodable {
        let pem: String?
        let secret: String?
    }
}

// MARK: The peer's server

extension SignaturePeer {
    /// A request as the peer's server received it, with the peer's verdict.
    struct Record: Decodable, Sendable {
        let accepted: Bool
        let reason: String
        let covered: [String]
        let method: String
        let target: String
        let headers: [[String]]
        let body: Data

        /// Returns all values of a field.
        func values(_ name: String) -> [String] {
            headers.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
        }

        /// Returns the message for a server that clients know by an origin and a request target.
        func message(target: String, at origin: String) throws -> HTTPMessage {
            HTTPMessage(
                method: try #require(HTTPMethod(method)),
                target: target,
                at: origin,
                headers: HTTPHeaders(headers.map { HTTPHeaders.Field(name: $0[0], value: $0[1]) })
            )
        }
    }

    /// Sends a request, and returns what the server reports with any status.
    static func record(_ client: NetworkClient, _ request: URLRequest) async throws -> Record {
        let body: Data
        do {
            body = try await client.makeRequest(request)
        } catch let error as ServerError where error.errorCode == 401 {
            body = error.body
        }
        return try JSONDecoder().decode(Record.self, from: body)
    }

    /// Returns the code with which our verifier rejects a message, or `nil` if it accepts it.
    static func rejection(
        of message: HTTPMessage,
        body: Data,
        _ profile: SignatureProfile,
        _ algorithm: JWSAlgorithm
    ) async throws -> HTTPSignatureError.Code? {
        let verifier = try MessageVerifier(
            profile: profile,
            keys: SignatureKeys(key(algorithm, of: .client).verificationKey),
            replayCache: InMemoryReplayCache()
        )
        do {
            _ = try await verifier.verify(message, body: body)
            return nil
        } catch {
            return error.code
        }
    }
}

// MARK: The peer's client

extension SignaturePeer {
    /// A request that the peer signs, changes and sends.
    struct Order: Encodable, Sendable {
        var url: String
        var method = "GET"
        var headers: [[String]] = []
        var body = Data()
        var algorithm = ""
        var components: [String] = []
        var change: String?
    }

    /// The response to a request of the peer.
    struct Answer: Decodable, Sendable {
        let status: Int
        let body: Data
        /// The reason for which the peer itself rejects the request that it sent, or empty.
        let own: String
        /// The reason for which the peer rejects the response, or empty.
        let reason: String
    }

    static func send(_ order: Order) async throws -> Answer {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [
                Interop.file("signature_peer.py"), "send", Interop.required("INTEROP_FOLDER") + "/signature-keys",
                Interop.required("INTEROP_AUTHORITY"),
            ],
            input: String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
        )
        try #require(process.status == 0, "the peer failed: \(process.errors.suffix(2000))")
        return try JSONDecoder().decode(Answer.self, from: Data(process.output.utf8))
    }
}

/// A server of the library that verifies requests and signs its responses.
struct SignedServer: Sendable {
    /// A change of a signed response that the signature must detect.
    enum Change: String, CaseIterable, Sendable {
        case status, field, body, request

        var code: HTTPSignatureError.Code { self == .body ? .digestMismatch : .signatureInvalid }
    }

    var algorithm: JWSAlgorithm
    var profile = SignatureProfile.standard
    var responseProfile = SignatureProfile.standardResponse
    /// The origin that clients use instead of the server's own, with the path of the server in it.
    var externalOrigin: String?
    var change: Change?

    /// Runs a test with the server. Its response has the code of the rejection or, with 200, the
    /// key's ID.
    @discardableResult
    func run<Result>(_ test: (LoopbackServer) async throws -> Result) async throws -> Result {
        let verifier = try MessageVerifier(
            profile: profile,
            keys: SignatureKeys(SignaturePeer.key(algorithm, of: .client).verificationKey),
            replayCache: InMemoryReplayCache()
        )
        let signer = try MessageSigner(key: SignaturePeer.key(algorithm, of: .server), profile: responseProfile)
        return try await withLoopbackServer { server in
            let own = server.baseURL.absoluteString
            server.fallback { [externalOrigin, change, port = server.port] request in
                let isInner = externalOrigin != nil && request.target.hasPrefix("/inner/")
                let message = HTTPMessage(
                    method: request.method,
                    target: isInner ? "/to/\(port)" + request.target.dropFirst("/inner".count) : request.target,
                    at: isInner ? externalOrigin ?? own : own,
                    headers: request.headers
                )
                let (status, text): (Int, String)
                do throws(HTTPSignatureError) {
                    (status, text) = (200, try await verifier.verify(message, body: request.body).keyID ?? "")
                } catch {
                    (status, text) = (error.status, error.code.description)
                }
                return try await Self.response(status, Data(text.utf8), to: message, signer, change)
            }
            return try await test(server)
        }
    }

    private static func response(
        _ status: Int,
        _ content: Data,
        to request: HTTPMessage,
        _ signer: MessageSigner,
        _ change: Change?
    ) async throws -> LoopbackResponse {
        var response = LoopbackResponse(status: status, headers: ["Content-Type": "text/plain"], body: content)
        var answered = request
        if change == .request { answered.headers["Content-Digest"] = try HTTPDigest(of: Data("other".utf8)).fieldValue }
        let message = HTTPMessage(status: status, headers: response.headers, request: answered)
        for field in try await signer.sign(message, body: .data(content)) {
            response.headers[field.name] = field.value
        }
        switch change {
        case .status: response.status = 203
        case .field: response.headers["Content-Type"] = "text/html"
        case .body:
            response = LoopbackResponse(status: status, headers: response.headers, body: Data(content.reversed()))
        case .request, nil: break
        }
        return response
    }
}

/// A client of the library that signs requests and verifies responses.
struct SignedClient: Sendable {
    var algorithm: JWSAlgorithm
    var profile = SignatureProfile.standard
    /// The profile of responses; `nil` to accept them unverified.
    var responseProfile: SignatureProfile? = .standardResponse
    var version = CurlTransport.ProtocolVersion.negotiated
    /// Changes a request before it's signed.
    var prepare: @Sendable (inout HTTPRequest) throws -> Void = { _ in }
    /// Changes a request after the client has sent it, like a bad proxy.
    var change: @Sendable (inout HTTPRequest) throws -> Void = { _ in }

    /// Runs a test with the client.
    @discardableResult
    func run<Result>(_ test: (NetworkClient) async throws -> Result) async throws -> Result {
        var configuration = CurlTransport.Configuration(proxy: .none, tls: try TLSPeer.trust())
        configuration.protocolVersion = version
        let transport = try CurlTransport(configuration: configuration)
        var interceptors: [any Interceptor] = []
        if let responseProfile {
            let key = try SignaturePeer.key(algorithm, of: .server).verificationKey
            interceptors.append(
                ResponseVerifier(
                    try MessageVerifier(profile: responseProfile, keys: SignatureKeys(key), replayCache: nil)
                )
            )
        }
        let key = try SignaturePeer.key(algorithm, of: .client)
        interceptors += [
            Preparation(apply: prepare), RequestSigner(try MessageSigner(key: key, profile: profile)),
        ]
        let client = NetworkClient(
            transport: BadProxy(base: transport, apply: change),
            interceptors: interceptors,
            options: .init(timeout: .seconds(120))
        )
        do {
            let result = try await test(client)
            await transport.close()
            return result
        } catch {
            await transport.close()
            throw error
        }
    }

    private struct Preparation: WireInterceptor {
        let apply: @Sendable (inout HTTPRequest) throws -> Void

        func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
            var request = request
            try apply(&request)
            return try await next(request)
        }
    }

    private struct BadProxy: HTTPTransport {
        let base: CurlTransport
        let apply: @Sendable (inout HTTPRequest) throws -> Void

        func send(
            _ request: HTTPRequest,
            limits: HTTPTransportLimits
        ) async throws -> HTTPTransportResponse {
            var request = request
            try apply(&request)
            return try await base.send(request, limits: limits)
        }
    }
}

/// A change that a signature must detect, and the code with which our verifier rejects it.
enum MessageChange: String, CaseIterable, Sendable {
    case method, field, query, body, digest

    var code: HTTPSignatureError.Code { self == .body ? .digestMismatch : .signatureInvalid }

    /// The content that the tests send.
    static let content = Data(#"{"order": 1, "of": "tea"}"#.utf8)
    private static let otherContent = Data(#"{"order": 2, "of": "tea"}"#.utf8)

    /// Changes a request that was already signed.
    func apply(_ request: inout HTTPRequest) throws {
        switch self {
        case .method: request.method = .put
        case .field: request.headers["Authorization"] = "Bearer another"
        case .query:
            let text = request.url.absoluteString.replacing("state=open", with: "state=all")
            request.url = try #require(URL(string: text))
        case .body: request.body = .data(Self.otherContent)
        case .digest:
            request.body = .data(Self.otherContent)
            request.headers["Content-Digest"] = try HTTPDigest(of: Self.otherContent).fieldValue
        }
    }
}

extension URLRequest {
    /// Returns a request with credentials, and with content if it isn't a GET.
    static func order(_ url: String, method: String = "POST") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        request.setValue("Bearer mF_9.B5f-4.1JqM", forHTTPHeaderField: "Authorization")
        if method != "GET" {
            request.httpBody = MessageChange.content
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        return request
    }
}
