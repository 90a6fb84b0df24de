public import Foundation
public import FoundationNetworking
internal import OpenSSLCrypto

/// The description of an API request: its URL, method, query, header fields and body.
///
/// Only the base URL is required, so an enumeration models an API in a few lines:
///
/// ```swift
/// enum Library: HTTPEndpoint {
///     case books(author: String?)
///     case book(id: Int)
///     case add(Book)
///
///     var baseURL: URL { libraryURL }
///     var path: URLPath {
///         switch self {
///         case .books, .add: "/books"
///         case .book(let id): "/books/\(id)"
///         }
///     }
///     var method: HTTPMethod {
///         if case .add = self { .post } else { .get }
///     }
///     var query: URLQuery {
///         if case .books(let author) = self { ["author": author] } else { [:] }
///     }
///     var body: EndpointBody {
///         get throws {
///             if case .add(let book) = self { try .json(book) } else { .none }
///         }
///     }
/// }
/// ```
///
/// ``NetworkClient`` reads all properties again for each attempt. An endpoint without a path uses
/// the base URL as its whole URL and only adds the query. The client only sends requests to URLs
/// below the base URL; anything else is an error.
public protocol HTTPEndpoint: RequestConvertible {
    /// The absolute `http` or `https` URL before the path. Its query precedes the endpoint's.
    var baseURL: URL { get }
    /// The path below the base URL. The default is empty.
    var path: URLPath { get }
    /// The method. The default is `GET`.
    var method: HTTPMethod { get }
    /// The parameters added after those of the base URL. The default is empty.
    var query: URLQuery { get }
    /// The header fields. The default is empty. A `Content-Type` overrides the body's.
    var headers: HTTPHeaders { get }
    /// The body; ``EndpointBody/none`` by default.
    ///
    /// - Throws: Any error, and nothing is sent. The client rethrows an ``ErrorWithCode``; any
    ///   other error becomes the cause of a ``NetworkError`` with the code `requestNotMade`.
    var body: EndpointBody { get throws }
    /// The statuses that aren't errors. The default is 200…299.
    var acceptedStatuses: AcceptedStatuses { get }
    /// A Boolean value that indicates whether the client's authenticators take part in the
    /// operation. The default is `true`.
    var requiresAuthentication: Bool { get }
    /// The timeout of one attempt. The default, `nil`, is `URLRequest`'s 60 seconds.
    var timeout: Duration? { get }
    /// The cache policy. The default is `useProtocolCachePolicy`.
    var cachePolicy: URLRequest.CachePolicy { get }
    /// A Boolean value that indicates whether sending the request twice has the same effect as
    /// sending it once, so that the client may retry it.
    ///
    /// The default depends on the method
    /// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)) and is `true` if
    /// the headers have an `Idempotency-Key`.
    var isIdempotent: Bool { get }
    /// The compression of the body. The default, `nil`, is the client's.
    var requestCompression: RequestCompression? { get }
}

extension HTTPEndpoint {
    /// An empty path: the base URL is the whole URL.
    public var path: URLPath { "" }
    /// `GET`.
    public var method: HTTPMethod { .get }
    /// No parameters.
    public var query: URLQuery { [:] }
    /// No header fields.
    public var headers: HTTPHeaders { [:] }
    /// No body.
    public var body: EndpointBody { .none }
    /// 200…299.
    public var acceptedStatuses: AcceptedStatuses { .successful }
    /// `true`.
    public var requiresAuthentication: Bool { true }
    /// `nil`, for `URLRequest`'s 60 seconds.
    public var timeout: Duration? { nil }
    /// `useProtocolCachePolicy`.
    public var cachePolicy: URLRequest.CachePolicy { .useProtocolCachePolicy }
    /// `true` if the method is idempotent or the headers have an `Idempotency-Key`.
    public var isIdempotent: Bool { method.isIdempotent || headers["Idempotency-Key"] != nil }
    /// `nil`, for the client's compression.
    public var requestCompression: RequestCompression? { nil }

    /// Returns a URL with the base URL's host, or throws `invalidRequest` with the defect.
    package func makeURL() throws(NetworkError) -> URL {
        var reference = try baseReference()
        if let defect = path.defect { throw NetworkError(.invalidRequest, "\(defect); nothing was sent") }
        let addition = try query.encoded()
        reference.path = path.appended(to: reference.path)
        // Without new parameters the base URL's query is unchanged, even if it's empty.
        if !addition.isEmpty {
            reference.query = [reference.query ?? "", addition].filter { !$0.isEmpty }.joined(separator: "&")
        }
        guard let url = URL(string: reference.text, encodingInvalidCharacters: false),
            let origin = HTTPOrigin(url), origin == HTTPOrigin(baseURL.absoluteURL)
        else {
            throw NetworkError(
                .invalidRequest,
                "the base URL, path and query don't form a URL with the base URL's host"
            )
        }
        return url
    }

    /// Returns the request, including its body if that is in memory.
    ///
    /// The client calls this for each attempt. Call it yourself to send the request by other means.
    ///
    /// - Returns: The request.
    /// - Throws: The errors of the endpoint's body. ``NetworkError`` with the code `invalidRequest`
    ///   and a message that names the defect: the base URL is relative, has another scheme, no
    ///   host, user information or a fragment, the path or query is malformed, the timeout isn't
    ///   positive, a header field's name isn't a token, or its value has a control character.
    public func urlRequest() throws -> URLRequest { URLRequest(try makeBase()) }

    func makeBase(with other: EndpointBody? = nil) throws -> HTTPRequest {
        // The timeout of a `URLRequest` that sets none.
        var request = HTTPRequest(
            method: method,
            url: try makeURL(),
            headers: headers,
            timeout: timeout ?? .seconds(60)
        )
        request.cachePolicy = cachePolicy
        guard timeout.map({ $0 > .zero }) ?? true else {
            throw NetworkError(.invalidRequest, "the endpoint's timeout isn't positive; nothing was sent")
        }
        let body = try other ?? body
        if let contentType = body.contentType { request.headers.setDefault("Content-Type", contentType) }
        for field in request.headers { try field.validate() }
        request.body = body.content
        return request
    }

    private func baseReference() throws(NetworkError) -> URIReference {
        let url = baseURL.absoluteURL
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https", HTTPOrigin(url) != nil
        else {
            throw NetworkError(.invalidRequest, "the base URL is not an absolute http or https URL with a host")
        }
        guard url.user == nil, url.password == nil else {
            throw NetworkError(
                .invalidRequest,
                "the base URL has user information; remove it and send an Authorization header field instead"
            )
        }
        guard url.fragment == nil else {
            throw NetworkError(.invalidRequest, "the base URL has a fragment, which is never sent; remove it")
        }
        return URIReference(url.absoluteString)
    }
}

/// The body of a request to an endpoint, with its media type.
public struct EndpointBody: Sendable {
    package let content: HTTPBody
    package let contentType: String?

    /// Creates a body from any content, such as a stream.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - contentType: The value of `Content-Type`, or `nil` for none. One in the endpoint's
    ///     headers overrides it.
    public init(_ content: HTTPBody, contentType: String?) {
        self.content = content
        self.contentType = contentType
    }

    /// No body.
    public static let none = Self(.none, contentType: nil)

    /// Returns a body with data in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The media type. The default is `application/octet-stream`.
    /// - Returns: The body.
    public static func data(_ data: Data, contentType: String? = "application/octet-stream") -> Self {
        Self(.data(data), contentType: contentType)
    }

    /// Returns a body with a value encoded as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder. The default sorts keys and doesn't escape `/`, for stable bodies.
    ///   - contentType: The media type. The default is `application/json`.
    /// - Returns: The body.
    /// - Throws: The encoder's error. The operation then fails with
    ///   ``NetworkError/Code/requestNotMade``.
    public static func json(
        _ value: some Encodable,
        encoder: JSONEncoder? = nil,
        contentType: String = "application/json"
    ) throws -> Self {
        let standard = JSONEncoder()
        standard.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Self(.data(try (encoder ?? standard).encode(value)), contentType: contentType)
    }

    /// Returns a body with form fields in the format `application/x-www-form-urlencoded`.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a percent-encoded value is
    ///   malformed.
    public static func form(_ fields: URLQuery) throws(NetworkError) -> Self {
        Self(.data(Data(try fields.encoded(by: FormURLEncoded.encode).utf8)), contentType: FormURLEncoded.contentType)
    }

    /// Returns a body that streams a file.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - contentType: The media type. By default, the file name's extension determines it, with
    ///     `application/octet-stream` as the fallback.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the URL isn't a readable
    ///   regular file.
    public static func file(_ url: URL, contentType: String? = nil) throws(NetworkError) -> Self {
        Self(try .file(url), contentType: contentType ?? MediaType.ofFile(named: url.lastPathComponent))
    }
}

/// The statuses that the client doesn't treat as errors.
///
/// ```swift
/// var acceptedStatuses: AcceptedStatuses { 200..<400 }
/// var acceptedStatuses: AcceptedStatuses { [200, 404] }
/// ```
public struct AcceptedStatuses: Sendable, Hashable {
    fileprivate let ranges: [ClosedRange<Int>]

    /// The statuses 200…299, which are the default.
    public static let successful = Self(ranges: [200...299])
    /// Every status.
    public static let all = Self(ranges: [Int.min...Int.max])

    /// Returns the statuses of both sets.
    ///
    /// - Parameter other: The statuses to add.
    /// - Returns: The union.
    public func union(_ other: Self) -> Self { Self(ranges: ranges + other.ranges) }

    /// Returns whether a status is accepted.
    ///
    /// - Parameter status: The status.
    /// - Returns: `true` if the status is accepted.
    public func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }

    /// The ranges in readable form, such as `200…299, 404`.
    package var text: String {
        if ranges.isEmpty { return "none" }
        return ranges.map { range in
            if range == Int.min...Int.max { return "all" }
            let (first, last) = (range.lowerBound, range.upperBound)
            return first == last ? "\(first)" : "\(first)…\(last)"
        }.joined(separator: ", ")
    }
}

extension AcceptedStatuses: ExpressibleByArrayLiteral {
    /// Creates a set of single statuses.
    ///
    /// - Parameter elements: The statuses.
    public init(arrayLiteral elements: Int...) {
        ranges = elements.map { $0...$0 }
    }
}

// The operators are generic because Swift 6.2 prefers operators that aren't, even disfavored ones.

/// Returns the statuses from a lower bound up to, but not including, an upper bound.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The status after the last one.
/// - Returns: The accepted statuses.
@_disfavoredOverload  // Otherwise a bare `0..<10` would become statuses in every importing file.
public func ..< <Status: BinaryInteger>(lower: Status, upper: Status) -> AcceptedStatuses {
    let range: Range = Int(clamping: lower)..<Int(clamping: upper)
    return AcceptedStatuses(ranges: range.isEmpty ? [] : [ClosedRange(range)])
}

/// Returns the statuses from a lower bound through an upper bound.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The last status.
/// - Returns: The accepted statuses.
@_disfavoredOverload
public func ... <Status: BinaryInteger>(lower: Status, upper: Status) -> AcceptedStatuses {
    let range: ClosedRange = Int(clamping: lower)...Int(clamping: upper)
    return AcceptedStatuses(ranges: [range])
}
