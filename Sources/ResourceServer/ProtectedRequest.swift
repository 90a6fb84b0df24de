public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

/// The parts of a request, without its body, that decide whether a resource server accepts it.
public struct ProtectedRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The absolute URL as the client sees it: behind a proxy, the public one.
    ///
    /// DPoP proofs contain it.
    public var url: String
    /// The header fields, with repeated fields kept separate.
    public var headers: HTTPHeaders
    /// The certificate, as DER, that the client presented in the TLS handshake; `nil` without one.
    ///
    /// A proxy that terminates TLS must forward it in a form that clients can't forge.
    public var clientCertificateDER: Data?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The absolute URL as the client sees it.
    ///   - headers: The header fields, with repeated fields kept separate.
    ///   - clientCertificateDER: The certificate that the client presented. The default is `nil`.
    public init(method: HTTPMethod, url: String, headers: HTTPHeaders, clientCertificateDER: Data? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.clientCertificateDER = clientCertificateDER
    }
}

extension ProtectedRequest: Redacted {
    /// The method, the URL without its query, and the names of the header fields.
    public var description: String {
        let place = String(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        return "\(method) \(place) with \(headers.map(\.name).joined(separator: ", "))"
    }
}

/// The access token of a request, and its scheme.
struct PresentedToken {
    enum Scheme: String, CaseIterable {
        case bearer = "Bearer"
        case dpop = "DPoP"
    }

    let scheme: Scheme
    let text: String

    /// Reads the token of a request ([RFC 6750
    /// §2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1), [RFC 9449
    /// §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)); `nil` if the request has none,
    /// or credentials of another scheme.
    init?(_ headers: HTTPHeaders) throws(Malformed) {
        let fields = headers.values(for: "Authorization")
        guard fields.count <= 1 else { throw Malformed(description: "more than one Authorization field") }
        guard let field = fields.first else { return nil }
        let parts = field.asciiOnly.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        let schemes = Scheme.allCases
        guard let name = parts.first, let scheme = schemes.first(where: { name.equalsIgnoringASCIICase($0.rawValue) })
        else { return nil }
        guard parts.count == 2, case let text = parts[1].drop(while: { $0 == " " }), HTTPSyntax.isToken68(text) else {
            throw Malformed(description: "the Authorization field has no well-formed access token")
        }
        self.scheme = scheme
        self.text = String(text)
    }

    /// A request that violates the rules of its authentication scheme.
    struct Malformed: Error {
        let description: String
    }
}
