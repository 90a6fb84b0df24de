public import Foundation
public import Networking

extension SignIn {
    /// The longest path and query that are passed on, in bytes.
    private static let longestTarget = 8_192

    private static let requestFields = [
        "Accept", "Accept-Language", "Content-Type", "Content-Language", "If-Match", "If-None-Match",
        "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range", "Prefer", "Idempotency-Key",
    ]
    private static let responseFields = [
        "Content-Type", "Content-Language", "Content-Disposition", "Content-Range", "Accept-Ranges", "ETag",
        "Last-Modified", "Retry-After", "Allow", "Preference-Applied", "RateLimit", "RateLimit-Policy",
    ]

    /// Passes a request of the application's own scripts on to an API, with the user's access
    /// token.
    ///
    /// ```swift
    /// // GET /api/orders/7 becomes GET https://api.example/v1/orders/7.
    /// let response = try await signIn.forward(request, under: "/api", to: api, as: user)
    /// ```
    ///
    /// So scripts call APIs without ever seeing a token.
    ///
    /// - Only a page of this origin can make such a request, whatever the method: `Sec-Fetch-Site`,
    ///   or without it `Origin`, says so. Without both, the request needs a field `X-CSRF`.
    /// - The API must be one of the provider's ``SignInProvider/apis``. What is after `path` is
    ///   appended to its URL, exactly as received. A path that another reader could take for one
    ///   outside of the API's is refused: with a segment `..`, a backslash or an encoded slash,
    ///   however often it's encoded.
    /// - A few header fields are passed on, in both directions. Cookies, credentials and
    ///   `Cache-Control` aren't, nor are fields that a server in between may believe, such as
    ///   `Forwarded`. The client doesn't follow redirects. A `Location` below the API's URL becomes
    ///   one below `path`.
    /// - The response can't run as a page of this origin: it's `nosniff`, and in a sandbox.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - path: The path of this server that corresponds to the API's URL, such as `/api`.
    ///   - api: The API's URL, with the path that all requests are below.
    ///   - body: The body. The default, `nil`, is ``SignInRequest/body``. One that can be sent only
    ///     once isn't sent again with a new token.
    ///   - user: The user's session.
    ///   - methods: The methods that are passed on. The default is all that APIs commonly use.
    ///   - fields: The names of further header fields to pass on, in both directions. The default
    ///     is empty.
    /// - Returns: The API's response, whatever its status, with a body to read from
    ///   `HTTPResponse.stream`.
    /// - Throws: ``SignInError`` with the code `methodNotAllowed`, `crossSite`, `pathRefused` or
    ///   `apiUnavailable`, or the error of tokens that have ended; ``response(to:for:)`` makes the
    ///   response to each. `CancellationError` if the task is cancelled.
    public func forward(
        _ request: SignInRequest,
        under path: String,
        to api: URL,
        body: HTTPBody? = nil,
        as user: UserSession,
        methods: Set<HTTPMethod> = [.get, .head, .post, .put, .patch, .delete],
        passing fields: [String] = []
    ) async throws -> HTTPResponse {
        guard let method = HTTPMethod(request.method), methods.contains(method) else {
            throw SignInError(.methodNotAllowed, "the method isn't one that is passed on to the API")
        }
        guard request.isSameOrigin(as: origin) else { throw Self.crossSite }
        guard let url = Self.url(of: request.target, under: path, at: api) else {
            throw SignInError(.pathRefused, "the path isn't certainly one below the API's")
        }
        let own = request.body.isEmpty ? HTTPBody.none : HTTPBody.data(request.body)
        let outgoing = HTTPRequest(
            method: method,
            url: url,
            headers: request.headers.only(Self.requestFields + fields),
            body: method == .get || method == .head ? HTTPBody.none : body ?? own
        )
        var response: HTTPResponse
        do {
            let options = RequestOptions(redirects: .never, maximumBodySize: 1 << 40)
            response = try await user.client.stream(outgoing, options: options)
        } catch {
            // The tokens have ended, or the task was cancelled.
            if error is CancellationError || self.response(to: error, for: request) != nil { throw error }
            guard let found = (error as? ServerError)?.httpResponse else {
                throw SignInError(.apiUnavailable, "the API can't be reached, or responded incorrectly", cause: error)
            }
            response = found
        }
        let location = response.headers["Location"].flatMap { Self.location($0, from: url, api: api, path: path) }
        let challenges = response.headers.values(for: "WWW-Authenticate").filter { challenge in
            ["bearer ", "dpop "].contains { challenge.lowercased().hasPrefix($0) }
        }
        response.headers = response.headers.only(Self.responseFields + fields)
        response.headers["Location"] = location
        if response.status == 401, challenges.isEmpty { response.headers["WWW-Authenticate"] = challenge }
        for challenge in challenges { response.headers.append(name: "WWW-Authenticate", value: challenge) }
        // A document of the API isn't one of this origin.
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
        response.headers["Cache-Control"] = "no-store"
        return response
    }

    // MARK: URLs

    private static func base(_ api: URL) -> String {
        let text = api.absoluteString
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func url(of target: String, under path: String, at api: URL) -> URL? {
        let bytes = Array(target.utf8)
        let prefix = Array((path.hasSuffix("/") ? String(path.dropLast()) : path).utf8)
        guard bytes.count <= longestTarget, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), bytes.starts(with: prefix),
            api.query == nil, api.fragment == nil, let origin = HTTPOrigin(api)
        else { return nil }
        let parts = bytes.dropFirst(prefix.count).split(
            separator: UInt8(ascii: "?"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard let rest = parts.first, isBelow(rest) else { return nil }
        var text = base(api) + String(decoding: rest, as: UTF8.self)
        if parts.count == 2 {
            let query = String(decoding: parts[1], as: UTF8.self)
            text += "?" + PercentEncoding.repaired(query, allowing: PercentEncoding.isQueryCharacter)
        }
        guard let url = URL(string: text), HTTPOrigin(url) == origin else { return nil }
        return url
    }

    /// Whether a path with which another begins leads to nowhere else, for every reader.
    private static func isBelow(_ path: ArraySlice<UInt8>) -> Bool {
        let slash = UInt8(ascii: "/")
        guard path.isEmpty || path.first == slash,
            PercentEncoding.isEncoded(
                String(decoding: path, as: UTF8.self),
                allowing: { PercentEncoding.isPathCharacter($0) || $0 == slash }
            )
        else { return false }
        let segments = path.split(separator: slash, omittingEmptySubsequences: false).dropFirst()
        // An empty segment can only be the last one.
        guard segments.dropLast().allSatisfy({ !$0.isEmpty }) else { return false }
        return segments.allSatisfy { segment in
            var spelling = Array(segment)
            // As received, and as often as servers may decode it.
            for _ in 0..<8 {
                let name = spelling.prefix { $0 != UInt8(ascii: ";") }
                guard !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8),
                    spelling.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != slash && $0 != UInt8(ascii: "\\") })
                else { return false }
                // A percent sign of the name itself isn't an escape.
                guard let next = PercentEncoding.decode(octets: spelling), next != spelling else { return true }
                spelling = next
            }
            return false
        }
    }

    /// Returns a location below the API's URL as one of this server; `nil` for another.
    private static func location(_ text: String, from url: URL, api: URL, path: String) -> String? {
        guard let target = URL(string: text, relativeTo: url)?.absoluteURL.absoluteString else { return nil }
        let base = Array(base(api).utf8)
        guard target.utf8.starts(with: base) else { return nil }
        let rest = Array(target.utf8.dropFirst(base.count))
        guard isBelow(rest.prefix(while: { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })) else { return nil }
        return (path.hasSuffix("/") ? String(path.dropLast()) : path) + String(decoding: rest, as: UTF8.self)
    }
}

extension HTTPHeaders {
    fileprivate func only(_ names: [String]) -> HTTPHeaders {
        HTTPHeaders(filter { field in names.contains { $0.equalsIgnoringASCIICase(field.name) } })
    }
}
