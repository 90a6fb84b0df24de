public import Foundation
import Networking

/// The location of a server's metadata.
public struct WellKnownDocument: Sendable, Hashable {
    private enum Wrapped: Hashable { case openID, openIDBeforePath, oauth2, location(URL) }
    private let wrapped: Wrapped

    /// The document `…/.well-known/openid-configuration` after the issuer's path ([OpenID Connect
    /// Discovery 1.0
    /// §4](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig)).
    public static let openID = Self(wrapped: .openID)
    /// The document `/.well-known/openid-configuration…` before the issuer's path
    /// ([RFC 8414 §5](https://www.rfc-editor.org/rfc/rfc8414#section-5)).
    public static let openIDBeforePath = Self(wrapped: .openIDBeforePath)
    /// The document `/.well-known/oauth-authorization-server…` before the issuer's path
    /// ([RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)).
    public static let oauth2 = Self(wrapped: .oauth2)

    /// A custom URL, whose document must still name the issuer.
    ///
    /// - Parameter url: The document's URL.
    /// - Returns: The location.
    public static func location(_ url: URL) -> Self { Self(wrapped: .location(url)) }

    /// Returns the document's URL.
    ///
    /// - Throws: ``OAuth2Error`` with the code `invalidIssuer` if the identifier isn't a URL, or
    ///   has user information, a query or a fragment; `insecureTransport` if it, or a custom URL,
    ///   is neither `https` nor on this machine.
    package func url(issuer: String) throws(OAuth2Error) -> URL {
        guard let base = URL(string: issuer), base.host?.isEmpty == false, base.user == nil, base.password == nil,
            !issuer.contains(where: { $0 == "?" || $0 == "#" })
        else {
            throw OAuth2Error(
                .invalidIssuer,
                "the issuer identifier must be a URL without query and fragment, exactly as the server writes it"
            )
        }
        guard let origin = HTTPOrigin(base), origin.isConfidential else { throw base.isNotConfidential("metadata") }
        if case .location(let url) = wrapped {
            _ = try url.confidentialOrigin("metadata")
            return url
        }
        // Use the identifier's text, because a URL's components lose escapes in the path.
        let authority = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
        let pathStart = issuer[authority...].firstIndex(of: "/") ?? issuer.endIndex
        var path = issuer[pathStart...]
        if path.last == "/" { path.removeLast() }
        let text =
            switch wrapped {
            case .openID: "\(issuer[..<pathStart])\(path)/.well-known/openid-configuration"
            case .openIDBeforePath: "\(issuer[..<pathStart])/.well-known/openid-configuration\(path)"
            case .oauth2, .location: "\(issuer[..<pathStart])/.well-known/oauth-authorization-server\(path)"
            }
        guard let url = URL(string: text) else {
            throw OAuth2Error(.invalidIssuer, "the metadata document's URL can't be built from the issuer identifier")
        }
        return url
    }
}
