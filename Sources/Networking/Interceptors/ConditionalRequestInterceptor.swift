import Foundation
public import FoundationNetworking
internal import OpenSSLCrypto
import Synchronization

/// An interceptor that revalidates cached responses with `If-None-Match` and `If-Modified-Since`.
///
/// It returns the cached response for a 304
/// ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     authenticator, ConditionalRequestInterceptor(),
/// ])
/// ```
///
/// Put it after authenticators, because responses are cached per credential. It handles `GET`
/// requests and never stores responses with `no-store`. It ignores streamed requests and requests
/// with their own conditions. Every request reaches the server, so the response is never stale.
public final class ConditionalRequestInterceptor: RequestInterceptor {
    private let cache: any HTTPResponseCache
    /// The cached responses of running attempts, even if the cache evicts them meanwhile.
    private let found = Mutex<[AttemptName: CachedResponse]>([:])

    private struct AttemptName: Hashable {
        let operation: UInt64
        let attempt: Int

        init(_ context: InterceptorContext) {
            (operation, attempt) = (context.operation, context.attempt)
        }
    }

    /// Creates an interceptor.
    ///
    /// - Parameter cache: The cache. The default uses up to 10 MiB of memory.
    public init(cache: any HTTPResponseCache = MemoryResponseCache()) {
        self.cache = cache
    }

    /// Adds conditions if a cached response has validators.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: The context of the operation.
    /// - Returns: The request with conditions.
    /// - Throws: The error so far.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        guard !context.isStreamed, let key = Self.key(of: request), !Self.hasConditions(request),
            let cached = await cache.response(for: key),
            cached.varying.allSatisfy({ request.value(forHTTPHeaderField: $0) ?? "" == $1 })
        else { return request }
        let headers = cached.response.headers
        // A validator that isn't a valid header field value is ignored.
        if let tag = headers["ETag"] { try? request.setHeaderField("If-None-Match", to: tag) }
        if let date = headers["Last-Modified"] { try? request.setHeaderField("If-Modified-Since", to: date) }
        found.withLock { $0[AttemptName(context)] = cached }
        return request
    }

    /// Stores a response, or returns the cached response for a 304.
    ///
    /// - Parameters:
    ///   - response: The response so far.
    ///   - request: The request as it was sent.
    ///   - context: The context of the operation.
    /// - Returns: The current response.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async -> HTTPResponse {
        guard !context.isStreamed, let key = Self.key(of: request) else { return response }
        let cached = found.withLock { $0[AttemptName(context)] }
        if response.status == 304, let cached {
            var fresh = cached
            fresh.response.update(with: response)
            if Self.mayBeKept(fresh.response) { await cache.store(fresh, for: key) }
            return fresh.response
        }
        if cached != nil || !Self.hasConditions(request), response.status == 200, response.redirects.isEmpty,
            Self.mayBeKept(response), let varying = Self.varying(response, request)
        {
            await cache.store(CachedResponse(response: response, varying: varying), for: key)
        }
        return response
    }

    /// Removes the attempt's cached response.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        found.withLock { $0[AttemptName(attempt.context)] = nil }
    }

    // MARK: Rules

    /// Returns the URL with a digest of the credentials, to separate users; `nil` if not cacheable.
    private static func key(of request: URLRequest) -> String? {
        guard request.httpMethod ?? "GET" == "GET", let url = request.url?.absoluteString else { return nil }
        let control = request.value(forHTTPHeaderField: "Cache-Control")?.lowercased() ?? ""
        guard !control.contains("no-store") else { return nil }
        let credentials = ["Authorization", "Cookie"].map { request.value(forHTTPHeaderField: $0) ?? "" }
        let octets = [UInt8](credentials.joined(separator: "\n").utf8)
        let digest = try? octets.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        guard let digest else { return nil }
        return "\(Data(digest).base64EncodedString()) \(url)"
    }

    private static func hasConditions(_ request: URLRequest) -> Bool {
        ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"].contains {
            request.value(forHTTPHeaderField: $0) != nil
        }
    }

    private static func mayBeKept(_ response: HTTPResponse) -> Bool {
        let control = response.headers.values(for: "Cache-Control").joined(separator: ",").asciiOnly.lowercased()
        return !control.contains("no-store")
            && (response.headers["ETag"] != nil || response.headers["Last-Modified"] != nil)
    }

    /// Returns the request's fields listed in the response's `Vary`; `nil` for `*`.
    private static func varying(_ response: HTTPResponse, _ request: URLRequest) -> [String: String]? {
        let names = response.headers.values(for: "Vary").flatMap { $0.asciiOnly.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        guard !names.contains("*") else { return nil }
        return Dictionary(names.map { ($0, request.value(forHTTPHeaderField: $0) ?? "") }) { $1 }
    }
}

extension HTTPResponse {
    /// Adopts the fields of a 304
    /// ([RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)), except those that
    /// describe a body.
    fileprivate mutating func update(with notModified: HTTPResponse) {
        let describing = ["content-length", "content-encoding", "content-type", "content-range", "transfer-encoding"]
        let fields = notModified.headers.filter { !describing.contains(where: $0.name.equalsIgnoringASCIICase) }
        for field in fields { headers[field.name] = nil }
        for field in fields { headers.append(name: field.name, value: field.value) }
    }
}
