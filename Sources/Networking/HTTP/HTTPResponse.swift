public import Foundation
public import FoundationNetworking

/// A response as interceptors and callers see it.
public struct HTTPResponse: Sendable {
    /// All in one place: interceptors hand a response on more often than they look into it, and each time would count five references.
    private var storage: Storage

    /// The URL that answered: after redirects, the last one.
    public var url: URL {
        get { storage.url }
        set { changed.url = newValue }
    }

    /// The status code.
    public var status: Int {
        get { storage.status }
        set { changed.status = newValue }
    }

    /// The protocol version: `HTTP/1.1`, `HTTP/2`.
    public var version: String {
        get { storage.version }
        set { changed.version = newValue }
    }

    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders {
        get { storage.headers }
        set { changed.headers = newValue }
    }

    /// The body after content decoding; empty if there is none.
    public var body: Data {
        get { storage.body }
        set { changed.body = newValue }
    }

    /// The redirects that were followed, oldest first.
    public var redirects: [RedirectHop] {
        get { storage.redirects }
        set { changed.redirects = newValue }
    }

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - url: The URL that answered.
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields.
    ///   - body: The body after content decoding.
    ///   - redirects: The redirects that were followed, oldest first.
    public init(
        url: URL,
        status: Int,
        version: String = "HTTP/1.1",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        redirects: [RedirectHop] = []
    ) {
        storage = Storage(url, status, version, headers, body, redirects)
    }

    /// The storage, which no other response has from now on.
    private var changed: Storage {
        mutating get {
            if !isKnownUniquelyReferenced(&storage) {
                let old = storage
                storage = Storage(old.url, old.status, old.version, old.headers, old.body, old.redirects)
            }
            return storage
        }
    }

    /// Unchecked, and right: it is changed only through the one response that refers to it.
    private final class Storage: @unchecked Sendable {
        var url: URL
        var status: Int
        var version: String
        var headers: HTTPHeaders
        var body: Data
        var redirects: [RedirectHop]

        init(
            _ url: URL,
            _ status: Int,
            _ version: String,
            _ headers: HTTPHeaders,
            _ body: Data,
            _ redirects: [RedirectHop]
        ) {
            self.url = url
            self.status = status
            self.version = version
            self.headers = headers
            self.body = body
            self.redirects = redirects
        }
    }

    /// Whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(status) }

    /// The head of the response as Foundation's type, in which repeated fields are joined by commas.
    public var urlResponse: HTTPURLResponse {
        let fields = Dictionary(headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        guard
            let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: fields)
        else {
            // No argument makes swift-corelibs-foundation return nil; the tests try odd ones.
            fatalError("not a response")  // reason: the initializer is failable in name only
        }
        return response
    }
}

extension HTTPURLResponse {
    /// Whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(statusCode) }
}
