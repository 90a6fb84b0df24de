public import Foundation
public import FoundationNetworking

extension HTTPEndpoint {
    /// Returns the base URL with the path appended and the query added.
    ///
    /// - Returns: An absolute `http` or `https` URL with the base URL's host.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` and a message that names the
    ///   defect: the base URL is relative, has another scheme, no host, user information or a
    ///   fragment, or the path or query is malformed.
    public func makeURL() throws(NetworkError) -> URL {
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
    /// - Throws: The errors of ``makeURL()`` and the endpoint's body; ``NetworkError`` with the
    ///   code `invalidRequest` if the timeout isn't positive, a header field's name isn't a token,
    ///   or its value has a control character.
    public func urlRequest() throws -> URLRequest { URLRequest(try makeBase()) }

    /// Returns the request with its body, which a given one replaces.
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
