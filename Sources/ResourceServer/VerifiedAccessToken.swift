public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

/// An access token that an ``AccessTokenVerifier`` has verified for a request.
///
/// Only a verifier can create one.
public struct VerifiedAccessToken: Sendable {
    /// The proof of possession that the sender of a token gave.
    @nonexhaustive
    public enum Binding: Sendable {
        /// No proof: any holder can use the token.
        case none
        /// Possession of a key, by a DPoP proof
        /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
        case key
        /// Possession of a certificate's key, by the TLS handshake
        /// ([RFC 8705](https://www.rfc-editor.org/rfc/rfc8705)).
        case certificate
    }

    /// `iss`: the issuer of the token.
    public let issuer: String?
    /// `sub`: the user that the token represents, or the client itself if there is no user.
    public let subject: String?
    /// `client_id`, or the claim that a well-known issuer has instead: the client that the token
    /// was issued to.
    public let clientID: String?
    /// `aud`: the audience of the token.
    public let audience: [String]
    /// The names of the token's scope.
    public let scope: [String]
    /// `exp`: the time when the token expires.
    public let expiration: Date?
    /// The proof of possession that the sender gave.
    public internal(set) var binding: Binding = .none
    /// All claims, or all members of the introspection response.
    public let claims: JSONObject
    /// The header fields to add to the response, regardless of its status.
    ///
    /// They contain a new nonce for DPoP proofs when it's time for one
    /// ([RFC 9449 §8.2](https://www.rfc-editor.org/rfc/rfc9449#section-8.2)).
    public internal(set) var responseHeaders: HTTPHeaders = [:]

    init(_ token: VerifiedToken, scopeClaim: String, clientClaim: String) throws(TokenError) {
        issuer = token.registered.issuer
        subject = token.registered.subject
        clientID = token.claims[clientClaim]?.string ?? token.claims["client_id"]?.string
        audience = token.registered.audience
        scope = try Self.scope(token.claims[scopeClaim], scopeClaim)
        expiration = token.registered.expiration
        claims = token.claims
    }

    /// Reads a scope: a space-separated string or, as some issuers write it, an array of names.
    static func scope(_ value: JSONValue?, _ name: String) throws(TokenError) -> [String] {
        switch value {
        case nil: return []
        case .string(let text)?: return text.spaceSeparated
        case .array(let elements)?:
            let names = elements.compactMap(\.string)
            if names.count == elements.count { return names }
        default: break
        }
        throw TokenError(.malformedClaim, "the claim “\(name)” is neither a string nor an array of strings")
    }
}

/// The parts of a request, without its body, that decide whether a resource server accepts it.
public struct ProtectedRequest: Sendable, Redacted {
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
    public init(method: HTTPMethod, url: String, headers: HTTPHeaders, clientCertificateDER: Data? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.clientCertificateDER = clientCertificateDER
    }

    /// The method, the URL without its query, and the names of the header fields.
    public var description: String {
        let place = String(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        return "\(method) \(place) with \(headers.map(\.name).joined(separator: ", "))"
    }
}

struct PresentedToken {
    enum Scheme: String, CaseIterable {
        case bearer = "Bearer"
        case dpop = "DPoP"
    }

    let scheme: Scheme
    let text: String

    /// [RFC 6750 §2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1),
    /// [RFC 9449 §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1); `nil` without a token.
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
