import Foundation
import FoundationNetworking
import HTTPSignatures
import Networking
import OAuth2
import Testing
import TokenGeneration

/// A client of the library that signs requests and verifies responses.
struct SignedClient: Sendable {
    var algorithm: JWSAlgorithm
    var profile = SignatureProfile.standard
    /// The profile of responses; `nil` to accept them unverified.
    var responseProfile: SignatureProfile? = .standardResponse
    var version = CurlTransport.ProtocolVersion.negotiated
    /// Changes a request before it's signed.
    var prepare: @Sendable (inout HTTPTransportRequest) throws -> Void = { _ in }
    /// Changes a request after the client has sent it, like a bad proxy.
    var change: @Sendable (inout HTTPTransportRequest) throws -> Void = { _ in }

    /// Runs a test with the client.
    @discardableResult
    func run<Result>(_ test: (NetworkClient) async throws -> Result) async throws -> Result {
        var configuration = CurlTransport.Configuration(proxy: .none, tls: try TLSPeer.trust())
        configuration.protocolVersion = version
        let transport = try CurlTransport(configuration: configuration)
        var interceptors: [any RequestInterceptor] = []
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

    private struct Preparation: RequestInterceptor {
        let apply: @Sendable (inout HTTPTransportRequest) throws -> Void

        func completeRequest(
            _ request: HTTPTransportRequest,
            after redirects: [RedirectHop],
            context: InterceptorContext
        ) async throws -> HTTPTransportRequest {
            var request = request
            try apply(&request)
            return request
        }
    }

    private struct BadProxy: HTTPTransport {
        let base: CurlTransport
        let apply: @Sendable (inout HTTPTransportRequest) throws -> Void

        func send(
            _ request: HTTPTransportRequest,
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
    func apply(_ request: inout HTTPTransportRequest) throws {
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
