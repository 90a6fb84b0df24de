import AsyncHTTPClient
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore
import NIOHTTP1
import Networking
import OAuth2
import OAuth2AsyncHTTPClient
import OAuth2HTTPTypes
import Synchronization

#if OpenAPI
    import OAuth2OpenAPI
    import OpenAPIRuntime

    /// The body of swift-openapi-runtime.
    typealias StreamedBody = OpenAPIRuntime.HTTPBody
#endif

/// A request of the table, in no client's types.
struct Call: Sendable {
    let url: URL
    let body: CallBody
    /// The request's own `Authorization`.
    var authorization: String?

    var isPost: Bool { body != .none }
}

/// The kinds of bodies, all of them with the same bytes.
enum CallBody: Sendable {
    case none, data
    /// A stream that can be read again.
    case stream
    /// A stream that can be read once.
    case once

    static let parts = ["a ", "new ", "report"]
    static let bytes = Data(parts.joined().utf8)
}

/// The bytes of a body in parts.
///
/// A second reading fails if the stream can be read once.
struct Parts: AsyncSequence, Sendable {
    struct UsedUp: Error {}

    private final class Readings: Sendable {
        let count = Atomic(0)
    }

    let isSingle: Bool
    private let readings = Readings()

    init(isSingle: Bool) { self.isSingle = isSingle }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var parts: [String]
        fileprivate let isUsedUp: Bool

        mutating func next() async throws -> ArraySlice<UInt8>? {
            if isUsedUp { throw UsedUp() }
            return parts.isEmpty ? nil : ArraySlice(parts.removeFirst().utf8)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let count = readings.count.add(1, ordering: .relaxed).newValue
        return AsyncIterator(parts: CallBody.parts, isUsedUp: isSingle && count > 1)
    }
}

/// The result of a call, in no client's types.
enum Outcome: Equatable, Sendable {
    /// The status, and the content of a successful response.
    case response(Int, String = "")
    case failure(OAuth2Error.Code)
}

/// The clients of the table.
///
/// Each adds an authenticator as its documentation shows.
enum ClientUnderTest: String, CaseIterable, Sendable {
    case networkClient = "NetworkClient"
    case openAPI = "OpenAPI middleware"
    case asyncHTTPClient = "async-http-client"

    func send(_ call: Call, with authenticator: OAuth2Authenticator) async throws -> Outcome {
        do {
            switch self {
            case .networkClient: return try await sendWithNetworkClient(call, authenticator)
            case .openAPI: return try await sendWithMiddleware(call, authenticator)
            case .asyncHTTPClient: return try await sendWithAsyncHTTPClient(call, authenticator)
            }
        } catch {
            // `NetworkClient` puts the reason into the error of the response or of the request.
            let reason =
                (error as? Networking.ServerError)?.authenticationError ?? (error as? NetworkError)?.cause ?? error
            if let reason = reason as? OAuth2Error { return .failure(reason.code) }
            if let error = error as? Networking.ServerError { return .response(error.status) }
            throw error
        }
    }

    private func sendWithNetworkClient(_ call: Call, _ authenticator: OAuth2Authenticator) async throws -> Outcome {
        let client = NetworkClient(interceptors: [authenticator])
        var request = URLRequest(url: call.url)
        request.httpMethod = call.isPost ? "POST" : "GET"
        request.setValue(call.authorization, forHTTPHeaderField: "Authorization")
        let parts = Parts(isSingle: call.body == .once)
        let body: Networking.HTTPBody? =
            switch call.body {
            case .none: nil
            case .data: .data(CallBody.bytes)
            case .stream: .stream { parts.map { Data($0) } }
            case .once: .once(parts.map { Data($0) })
            }
        let response = try await client.response(for: request, options: RequestOptions(body: body))
        return .response(response.status, String(decoding: response.body, as: UTF8.self))
    }

    private func sendWithAsyncHTTPClient(_ call: Call, _ authenticator: OAuth2Authenticator) async throws -> Outcome {
        let parts = Parts(isSingle: call.body == .once)
        let response = try await HTTPClient.shared.execute(
            authenticatedBy: authenticator,
            isRepeatable: call.body != .once
        ) {
            var request = HTTPClientRequest(url: call.url.absoluteString)
            request.method = call.isPost ? .POST : .GET
            if let authorization = call.authorization {
                request.headers.add(name: "Authorization", value: authorization)
            }
            switch call.body {
            case .none: break
            case .data: request.body = .bytes(CallBody.bytes)
            case .stream, .once: request.body = .stream(parts.map { ByteBuffer(bytes: $0) }, length: .unknown)
            }
            return request
        }
        let content = String(buffer: try await response.body.collect(upTo: 1 << 16))
        let status = Int(response.status.code)
        return .response(status, status == 200 ? content : "")
    }

    private func sendWithMiddleware(_ call: Call, _ authenticator: OAuth2Authenticator) async throws -> Outcome {
        var request = HTTPTypes.HTTPRequest(
            method: call.isPost ? .post : .get,
            scheme: nil,
            authority: nil,
            path: call.url.path
        )
        request.headerFields[.authorization] = call.authorization
        let body: StreamedBody? =
            switch call.body {
            case .none: nil
            case .data: StreamedBody(CallBody.bytes)
            case .stream: StreamedBody(Parts(isSingle: false), length: .unknown, iterationBehavior: .multiple)
            case .once: StreamedBody(Parts(isSingle: true), length: .unknown, iterationBehavior: .single)
            }
        var components = URLComponents(url: call.url, resolvingAgainstBaseURL: false)
        components?.path = ""
        guard let baseURL = components?.url else { throw URLError(.badURL) }
        let (response, content) = try await authenticator.intercept(
            request,
            body: body,
            baseURL: baseURL,
            operationID: "report",
            next: transport
        )
        var text = ""
        if let content { for try await part in content { text += String(decoding: part, as: UTF8.self) } }
        let status = response.status.code
        return .response(status, status == 200 ? text : "")
    }
}

/// The end of the middlewares' chain.
@Sendable private func transport(
    _ request: HTTPTypes.HTTPRequest,
    _ body: StreamedBody?,
    _ baseURL: URL
) async throws -> (HTTPTypes.HTTPResponse, StreamedBody?) {
    var sent = HTTPClientRequest(url: baseURL.absoluteString + (request.path ?? ""))
    sent.method = NIOHTTP1.HTTPMethod(rawValue: request.method.rawValue)
    for field in request.headerFields { sent.headers.add(name: field.name.rawName, value: field.value) }
    if let body { sent.body = .stream(body.map { ByteBuffer(bytes: $0) }, length: .unknown) }
    let response = try await HTTPClient.shared.execute(sent, timeout: .minutes(1))
    var fields = HTTPFields()
    for field in response.headers {
        if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
    }
    let bytes = try await response.body.collect(upTo: 1 << 16)
    return (
        HTTPTypes.HTTPResponse(status: .init(code: Int(response.status.code)), headerFields: fields),
        StreamedBody(Data(bytes.readableBytesView))
    )
}
