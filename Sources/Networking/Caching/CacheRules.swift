import Foundation
internal import OpenSSLCrypto

/// The rules for storing and updating responses
/// ([RFC 9111 §3](https://www.rfc-editor.org/rfc/rfc9111#section-3)).
enum CacheRules {
    /// Returns whether a status is cacheable without explicit freshness
    /// ([RFC 9110 §15.1](https://www.rfc-editor.org/rfc/rfc9110#section-15.1)).
    ///
    /// Partial responses and redirects are missing, because they're never stored.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 404, 405, 410, 414, 501].contains(status)
    }

    /// Returns whether a complete response to `GET` or `QUERY` may be stored.
    ///
    /// The response to a request with credentials is stored only if its `Cache-Control` allows
    /// that, as in a shared cache ([RFC 9111
    /// §3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)), or with `private`.
    static func isStorable(_ response: HTTPResponse, hasCredentials: Bool) -> Bool {
        switch response.status {
        // A redirect belongs to a request that the client may have to follow. The challenges of 401
        // and 407 are for one request only.
        case 206, 300...399, 401, 407: return false
        case 200...599: break
        default: return false
        }
        let directives = CacheDirectives(response.headers.values(for: "Cache-Control"))
        guard !directives.isMalformed, allowsStorage(directives, response.status) else { return false }
        if hasCredentials, !allowsCredentials(directives) { return false }
        let isCacheable =
            isHeuristicallyCacheable(response.status) || response.headers["Expires"] != nil
            || ["max-age", "public", "private"].contains(where: directives.contains)
        return isCacheable && isWellFormed(response)
    }

    /// Applies `no-store` and `must-understand`
    /// ([RFC 9111 §5.2.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.2.3)).
    private static func allowsStorage(_ directives: CacheDirectives, _ status: Int) -> Bool {
        guard directives.contains("must-understand") else { return !directives.contains("no-store") }
        return isHeuristicallyCacheable(status)
    }

    private static func allowsCredentials(_ directives: CacheDirectives) -> Bool {
        // With an argument, `private` is about some fields, and not about the response.
        directives.containsUnqualified("private")
            || ["public", "must-revalidate", "s-maxage"].contains(where: directives.contains)
    }

    /// Returns whether a response is what a server can have sent.
    ///
    /// The package's transports reject malformed responses, but other transports and interceptors
    /// may not.
    private static func isWellFormed(_ response: HTTPResponse) -> Bool {
        let areFieldsValid = [response.headers, response.trailers].allSatisfy { fields in
            fields.allSatisfy { HTTPSyntax.isToken($0.name) && HTTPSyntax.isFieldValue($0.value) }
        }
        guard areFieldsValid else { return false }
        let lengths = Set(response.headers.values(for: "Content-Length").map(ByteComparedString.init))
        // A decoded body has another length.
        guard !lengths.isEmpty, response.headers["Content-Encoding"] == nil else { return true }
        return lengths == [ByteComparedString(String(response.body.count))]
    }

    /// Returns whether a response is of any use once it's stored.
    static func isUseful(_ stored: CachedResponse) -> Bool {
        let freshness = CacheFreshness(stored, at: stored.responseTime)
        return freshness.lifetime > 0 || freshness.staleWhileRevalidate > 0 || freshness.staleIfError > 0
            || stored.response.hasValidator
    }
}

extension HTTPResponse {
    /// A Boolean value that indicates whether the response can be validated.
    var hasValidator: Bool { headers["ETag"] != nil || headers["Last-Modified"] != nil }

    /// The response without the fields of its connection
    /// ([RFC 9111 §3.1](https://www.rfc-editor.org/rfc/rfc9111#section-3.1)).
    var withoutConnectionFields: Self {
        var response = self
        let nominated = headers.values(for: "Connection").flatMap { $0.asciiOnly.split(separator: ",") }
            .map(\.trimmingHTTPWhitespace)
        let removed = Self.connectionFields.map { $0[...] } + nominated.prefix(64)
        response.headers = headers.without(removed)
        return response
    }

    private static let connectionFields = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ]

    /// The fields that describe the stored body, which a 304 doesn't have.
    private static let bodyFields = [
        "Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Content-Digest", "Transfer-Encoding",
    ]

    /// Adopts the fields of a 304
    /// ([RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)), except those that
    /// describe the body.
    mutating func update(with notModified: HTTPResponse) {
        let fields = notModified.withoutConnectionFields.headers.without(Self.bodyFields)
        // The age starts again, even if the 304 has no such fields.
        headers = HTTPHeaders(headers.without(["Age", "Date"] + fields.map(\.name)) + Array(fields))
    }

    /// Returns whether a 304 is about this response
    /// ([RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
    func isConfirmed(by notModified: HTTPResponse) -> Bool {
        if let tag = notModified.headers["ETag"] {
            return headers["ETag"].map { EntityTag.isConfirmed($0, by: tag) } ?? false
        }
        guard let date = notModified.headers["Last-Modified"], let own = headers["Last-Modified"] else { return true }
        return date.utf8.elementsEqual(own.utf8)
    }
}
