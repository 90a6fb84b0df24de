public import Foundation
public import FoundationNetworking

extension HTTPEndpoint {
    /// The URL: the base URL with the path appended and the query added.
    ///
    /// - Returns: An absolute `http` or `https` URL of the base URL's host.
    /// - Throws: ``NetworkError`` with the code `invalidRequest`, which says what is wrong: the base URL is relative, of another
    ///   scheme, without a host, or with user information or a fragment; the path's or the query's defect.
    public func makeURL() throws(NetworkError) -> URL {
        let base = try baseText()
        if let defect = path.defect { throw NetworkError(.invalidRequest, "\(defect); nothing was sent") }
        let addition = try query.encoded()
        let (location, own) = base.splitAtQuery()
        guard let start = location.pathStart else {
            throw NetworkError(.invalidRequest, "the base URL has no host; give an absolute URL")
        }
        var text = location[..<start] + path.appended(to: location[start...])
        let whole = [own.map(String.init) ?? "", addition].filter { !$0.isEmpty }.joined(separator: "&")
        // Without an addition the base URL's own query stays as it is, even if it is empty.
        if !addition.isEmpty || own != nil { text += "?\(whole)" }
        guard let url = URL(string: String(text), encodingInvalidCharacters: false),
            let origin = HTTPOrigin(url), origin == HTTPOrigin(baseURL.absoluteURL)
        else {
            throw NetworkError(
                .invalidRequest,
                "the base URL, the path and the query make no URL of the base URL's host"
            )
        }
        return url
    }

    /// The request, with its body if that is in memory.
    ///
    /// A client does this for each attempt; it is here for those who send requests by other means.
    ///
    /// - Returns: The request.
    /// - Throws: What ``makeURL()`` and the endpoint's body throw; ``NetworkError`` with the code `invalidRequest` if the timeout is
    ///   zero or less, or a header field has a name that isn't a token or a control character in its value.
    public func urlRequest() throws -> URLRequest {
        let (request, body) = try makeBase()
        guard case .data(let data) = body?.source else { return request }
        var copy = request
        copy.httpBody = data
        return copy
    }

    /// The request, and its body.
    func makeBase() throws -> AttemptLoop.Base {
        var request = URLRequest(url: try makeURL(), cachePolicy: cachePolicy)
        request.httpMethod = method.rawValue
        if let timeout {
            guard timeout > .zero else {
                throw NetworkError(.invalidRequest, "the endpoint's timeout is zero or less; nothing was sent")
            }
            request.timeoutInterval = timeout / .seconds(1)
        }
        try request.addHeaderFields(headers)
        let body = try body
        if let contentType = body.contentType, headers["Content-Type"] == nil {
            try request.setHeaderField("Content-Type", to: contentType)
        }
        return (request, body.content)
    }

    private func baseText() throws(NetworkError) -> String {
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
        return url.absoluteString
    }
}

extension String {
    /// What stands before the first `?`, and what follows it.
    fileprivate func splitAtQuery() -> (location: Substring, query: Substring?) {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return (self[...], nil) }
        return (self[..<mark], self[index(after: mark)...])
    }
}

extension Substring {
    /// Where the path of an absolute URL begins, which is its end if it has none.
    fileprivate var pathStart: Index? {
        guard let authority = range(of: "://")?.upperBound else { return nil }
        return self[authority...].utf8.firstIndex(of: UInt8(ascii: "/")) ?? endIndex
    }
}
