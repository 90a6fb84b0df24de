public import Foundation
public import FoundationNetworking

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
}
