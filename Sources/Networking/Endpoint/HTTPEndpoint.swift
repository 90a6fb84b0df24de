public import Foundation
public import FoundationNetworking

/// What to call: everything about a request that is known before it is made.
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
/// ``NetworkClient`` asks for all of it anew for each attempt. An endpoint without a path is absolute: its base URL is the whole
/// URL, to which only the query is added. The client never sends a request to a URL that is not below the base URL: what
/// would lead elsewhere is an error.
public protocol HTTPEndpoint: Sendable {
    /// The absolute `http` or `https` URL that the path is appended to. Its own query stays, before the endpoint's.
    var baseURL: URL { get }
    /// The path below the base URL; none by default.
    var path: URLPath { get }
    /// The method; `GET` by default.
    var method: HTTPMethod { get }
    /// The parameters that follow those of the base URL; none by default.
    var query: URLQuery { get }
    /// The header fields; none by default. A `Content-Type` in it wins over the body's.
    var headers: HTTPHeaders { get }
    /// What the request carries; nothing by default.
    ///
    /// - Throws: Why there is none. A client sends nothing then; what it throws is the error itself if that is an
    ///   ``ErrorWithCode``, and otherwise a ``NetworkError`` with the code `requestNotMade`, whose cause it is.
    var body: EndpointBody { get throws }
    /// The statuses that are not an error; 200…299 by default.
    var acceptedStatuses: AcceptedStatuses { get }
    /// Whether the client's authenticators put their credentials on the request; yes by default.
    ///
    /// If not, they are left out of the operation.
    var requiresAuthentication: Bool { get }
    /// How long one attempt may take; `nil`, the default, for `URLRequest`'s own 60 seconds.
    var timeout: Duration? { get }
    /// What caches are told; `useProtocolCachePolicy` by default.
    var cachePolicy: URLRequest.CachePolicy { get }
    /// Whether sending the request twice has the effect of sending it once, so that it may be repeated.
    ///
    /// By default what the method says ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
    var isIdempotent: Bool { get }
}

extension HTTPEndpoint {
    /// No path: the base URL is the whole URL.
    public var path: URLPath { .none }
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
    /// Yes.
    public var requiresAuthentication: Bool { true }
    /// `URLRequest`'s own 60 seconds.
    public var timeout: Duration? { nil }
    /// `useProtocolCachePolicy`.
    public var cachePolicy: URLRequest.CachePolicy { .useProtocolCachePolicy }
    /// What the method says, or yes if the headers have an `Idempotency-Key`.
    public var isIdempotent: Bool { method.isIdempotent || headers["Idempotency-Key"] != nil }
}
