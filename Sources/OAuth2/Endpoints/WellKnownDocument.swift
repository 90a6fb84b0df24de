public import Foundation
import Networking

/// Where a server publishes its metadata.
public struct WellKnownDocument: Sendable, Hashable {
    private enum Wrapped: Hashable { case openID, oauth2, location(URL) }
    private let wrapped: Wrapped

    /// `…/.well-known/openid-configuration` after the issuer's path
    /// ([OpenID Connect Discovery 1.0 §4](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig)).
    public static let openID = Self(wrapped: .openID)
    /// `/.well-known/oauth-authorization-server…` before the issuer's path
    /// ([RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)).
    public static let oauth2 = Self(wrapped: .oauth2)

    /// A URL of the server's own choice; the document there must name the issuer all the same.
    ///
    /// - Parameter url: The document's URL.
    /// - Returns: That place.
    public static func location(_ url: URL) -> Self { Self(wrapped: .location(url)) }

    /// The document's URL.
    ///
    /// - Parameter issuer: The issuer identifier.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `invalidIssuer` if the identifier is not a URL, or has user information, a query or a
    ///   fragment; `insecureTransport` if it, or a URL of the server's own choice, is neither `https` nor on this machine.
    package func url(issuer: String) throws(OAuth2Error) -> URL {
        guard let base = URL(string: issuer), base.host?.isEmpty == false, base.user == nil, base.password == nil,
            !issuer.contains(where: { $0 == "?" || $0 == "#" })
        else {
            throw OAuth2Error(
                .invalidIssuer,
                "the issuer identifier is not a URL without query and fragment; write it as the server does"
            )
        }
        guard let origin = HTTPOrigin(base), origin.isConfidential else { throw base.isNotConfidential("trust") }
        if case .location(let url) = wrapped {
            _ = try url.confidentialOrigin("trust")
            return url
        }
        // The identifier's own text: the path may have escapes that a URL's parts would lose.
        let authority = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
        let pathStart = issuer[authority...].firstIndex(of: "/") ?? issuer.endIndex
        var path = issuer[pathStart...]
        if path.last == "/" { path.removeLast() }
        let text =
            wrapped == .openID
            ? "\(issuer[..<pathStart])\(path)/.well-known/openid-configuration"
            : "\(issuer[..<pathStart])/.well-known/oauth-authorization-server\(path)"
        guard let url = URL(string: text) else {
            throw OAuth2Error(.invalidIssuer, "the issuer identifier makes no URL of a metadata document")
        }
        return url
    }
}
