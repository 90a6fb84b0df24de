public import Foundation
import FoundationNetworking

/// A request, as interceptors change it and a transport sends it.
public struct HTTPRequest: Sendable {
    /// The method; `GET` by default.
    public var method: HTTPMethod
    /// The absolute `http` or `https` URL.
    public var url: URL
    /// The header fields, in order; empty by default.
    public var headers: HTTPHeaders
    /// The body; none by default.
    public var body: HTTPBody
    /// The timeout of each attempt; `nil`, the default, for the operation's only.
    public var timeout: Duration?
    var cachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
    /// A closure that receives the request's events, for progress and metrics; `nil` by default.
    public var observer: (@Sendable (HTTPTransportEvent) -> Void)?

    /// Creates a request.
    public init(
        method: HTTPMethod = .get,
        url: URL,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .none,
        timeout: Duration? = nil,
        observer: (@Sendable (HTTPTransportEvent) -> Void)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.observer = observer
    }

    /// Checks for anything that could make a peer read a different request, and returns the URL's
    /// origin.
    ///
    /// Every transport calls this before it sends a byte. An `invalidRequest` error names the
    /// defect.
    @discardableResult
    package func validate() throws(NetworkError) -> HTTPOrigin {
        let origin = try validatedOrigin()
        try validateMethod()
        for field in headers { try field.validate() }
        try validateFraming()
        return origin
    }

    private func validatedOrigin() throws(NetworkError) -> HTTPOrigin {
        guard let origin = HTTPOrigin(url) else {
            try NetworkError.require(
                ["http", "https"].contains(url.scheme?.lowercased()),
                "the URL's scheme must be http or https, not “\(url.scheme ?? "none")”; give an absolute URL"
            )
            throw NetworkError(.invalidRequest, "the URL has no host; give an absolute URL")
        }
        try NetworkError.require(
            (1...65535).contains(origin.port),
            "the URL's port must be 1…65535, not \(origin.port)"
        )
        // RFC 9110 §4.2.4: a sender must not generate user information. Dropping it silently would
        // surprise the caller.
        try NetworkError.require(
            url.user == nil && url.password == nil,
            "the URL has user information; remove it and send an Authorization header field instead"
        )
        // Foundation and the engine both parse the URL. Reject what they could read differently.
        let text = url.absoluteString
        try NetworkError.require(
            text.utf8.span.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") },
            "the URL has a character that must be percent-encoded (or, in the host, in the IDNA form)"
        )
        return origin
    }

    private func validateMethod() throws(NetworkError) {
        try NetworkError.require(
            method != .connect,
            "CONNECT is only for proxy tunnels and can't be sent as a request; use another method"
        )
        try NetworkError.require(
            method != .head && method != .trace || body.contentLength == 0,
            "a \(method) request can't have a body"
        )
    }

    /// Rejects fields that contradict the framing, which would turn body bytes into another
    /// request.
    private func validateFraming() throws(NetworkError) {
        var hasHost = false
        for field in headers {
            // RFC 9112 §3.2: with two Host fields, a recipient may believe either.
            if field.name.equalsIgnoringASCIICase("Host") {
                try NetworkError.require(!hasHost, "the request has more than one Host header field; keep one")
                hasHost = true
            }
            try NetworkError.require(
                !field.name.equalsIgnoringASCIICase("Transfer-Encoding"),
                "the transport sets Transfer-Encoding; remove the header field"
            )
            guard field.name.equalsIgnoringASCIICase("Content-Length"), let length = body.contentLength else {
                continue
            }
            try NetworkError.require(
                field.value == String(length),
                "the Content-Length header field doesn't match the body's length, \(length); remove the header field"
            )
        }
    }
}

/// An HTTP request method.
///
/// The vocabulary is open: any token is a method
/// ([RFC 9110 §9](https://www.rfc-editor.org/rfc/rfc9110#section-9)). Methods are case-sensitive.
public struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
    /// The method's name on the wire.
    public let rawValue: String

    /// Creates a method from its name; the result is `nil` if that isn't a token
    /// ([RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)).
    public init?(_ rawValue: String) {
        guard HTTPSyntax.isToken(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(unchecked rawValue: String) {
        self.rawValue = rawValue
    }

    /// The method's name on the wire.
    public var description: String { rawValue }

    /// The method `GET`.
    public static let get = Self(unchecked: "GET")
    /// The method `HEAD`.
    public static let head = Self(unchecked: "HEAD")
    /// The method `POST`.
    public static let post = Self(unchecked: "POST")
    /// The method `PUT`.
    public static let put = Self(unchecked: "PUT")
    /// The method `PATCH` of [RFC 5789](https://www.rfc-editor.org/rfc/rfc5789).
    public static let patch = Self(unchecked: "PATCH")
    /// The method `DELETE`.
    public static let delete = Self(unchecked: "DELETE")
    /// The method `OPTIONS`.
    public static let options = Self(unchecked: "OPTIONS")
    /// The method `TRACE`.
    public static let trace = Self(unchecked: "TRACE")
    /// The method `CONNECT`.
    public static let connect = Self(unchecked: "CONNECT")

    /// The method `QUERY` of [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008), a `GET` with
    /// content.
    public static let query = Self(unchecked: "QUERY")

    /// [RFC 9110 §9.2.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1).
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// A Boolean value that indicates whether repeating the request has the effect of one request
    /// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
    public var isIdempotent: Bool {
        switch self {
        case .put, .delete: true
        default: isSafe
        }
    }
}

extension HTTPHeaders.Field {
    /// Checks that the field can be sent unchanged
    /// ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    package func validate() throws(NetworkError) {
        try NetworkError.require(
            HTTPSyntax.isToken(name),
            "a header field's name \(name.isEmpty ? "is empty" : "has an invalid character"): "
                + name.debugDescription.prefix(64)
        )
        try NetworkError.require(
            HTTPSyntax.isFieldValue(value),
            "the value of the header field “\(name)” contains a control character, such as a line break"
        )
    }
}

extension NetworkError {
    static func require(_ isMet: Bool, _ message: @autoclosure () -> String) throws(NetworkError) {
        guard isMet else { throw NetworkError(.invalidRequest, message()) }
    }
}
