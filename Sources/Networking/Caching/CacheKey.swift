import Foundation
import OpenSSLCrypto

/// The key of the responses that a cache stores for a URL, the credentials of its requests and, for
/// `QUERY`, their content.
public struct CacheKey: Hashable, Sendable {
    /// The absolute URL without its fragment, in one spelling.
    public let url: String
    /// A digest of the request's credentials; empty for a request without credentials.
    public let credentials: String
    /// A digest of a `QUERY` request's content and the fields that describe it; empty for `GET`
    /// ([RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
    public let content: String

    /// Creates the key of a request without content.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - credentials: A digest of the credentials, or an empty text.
    public init(url: String, credentials: String) {
        self.init(url: url, credentials: credentials, content: "")
    }

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - credentials: A digest of the credentials, or an empty text.
    ///   - content: A digest of the content, or an empty text.
    public init(url: String, credentials: String, content: String) {
        self.url = url
        self.credentials = credentials
        self.content = content
    }
}

extension CacheKey {
    private static let maximumURLLength = 8_192

    /// Creates the key of a request; `nil` if the URL can't be a key.
    ///
    /// `credentialFields` are the lowercase names of the fields that separate users.
    init?(_ request: HTTPRequest, credentialFields: Set<String>) {
        guard let url = Self.url(request.url) else { return nil }
        let fields = request.headers.map { (name: $0.name.lowercased(), value: $0.value) }
            .filter { credentialFields.contains($0.name) }
            .sorted { $0.name < $1.name }
        guard let credentials = fields.isEmpty ? "" : CacheDigest.of(fields.flatMap { [$0.name, $0.value] }),
            let content = request.method == .query ? Self.content(of: request) : ""
        else { return nil }
        self.init(url: url, credentials: credentials, content: content)
    }

    private static func content(of request: HTTPRequest) -> String? {
        let names = ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"]
        return CacheDigest.of(names.map { request.headers.combined($0) ?? "" }, request.heldBody ?? Data())
    }

    /// Returns the spelling of a URL in keys; `nil` if its responses aren't stored.
    static func url(_ url: URL) -> String? {
        let text = url.absoluteString
        guard text.utf8.count <= maximumURLLength, text.utf8.allSatisfy({ $0 < 0x80 }), let origin = HTTPOrigin(url),
            url.user == nil, url.password == nil
        else { return nil }
        let reference = URIReference(text)
        let path = reference.path.isEmpty ? "/" : reference.path
        return "\(origin.scheme)://\(origin)\(path)\(reference.query.map { "?\($0)" } ?? "")"
    }
}

/// SHA-256 digests of lists of texts.
enum CacheDigest {
    /// Returns the digest, or `nil` if OpenSSL fails.
    static func of(_ texts: [String], _ content: Data = Data()) -> String? {
        // Each text follows its length, so that different lists have different bytes.
        let bytes = texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) } + content
        let digest = try? bytes.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        return digest.map { Data($0).base64EncodedString() }
    }
}
