public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

/// An access token that an ``AccessTokenVerifier`` has found good for a request.
///
/// Only a verifier makes one.
public struct VerifiedAccessToken: Sendable {
    /// What the sender had to prove beside having the token.
    public struct Binding: Sendable, Hashable {
        private enum Wrapped { case none, key, certificate }
        private let wrapped: Wrapped

        /// Nothing: whoever has the token can use it.
        public static var none: Self { Self(wrapped: .none) }
        /// Having a key, by a DPoP proof ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
        public static var key: Self { Self(wrapped: .key) }
        /// Having a certificate's key, by the TLS handshake ([RFC 8705](https://www.rfc-editor.org/rfc/rfc8705)).
        public static var certificate: Self { Self(wrapped: .certificate) }
    }

    /// `iss`: who issued the token.
    public let issuer: String?
    /// `sub`: whom the token speaks for; the client itself if there is no user.
    public let subject: String?
    /// `client_id`: the client that the token was issued to.
    public let clientID: String?
    /// `aud`: for whom the token is.
    public let audience: [String]
    /// What the token entitles to, names apart.
    public let scope: [String]
    /// `exp`: when the token expires.
    public let expiration: Date?
    /// What the sender had to prove beside having the token.
    public internal(set) var binding: Binding = .none
    /// All claims, or all that the introspection endpoint said.
    public let claims: JSONObject
    /// What the response should say in its header, whatever it is: a new nonce for DPoP proofs, if it is time for one
    /// ([RFC 9449 §8.2](https://www.rfc-editor.org/rfc/rfc9449#section-8.2)).
    public internal(set) var responseHeaders: HTTPHeaders = [:]

    /// Takes what a JWT says.
    ///
    /// - Throws: `TokenError` with the code `malformedClaim`.
    init(_ token: VerifiedToken, scopeClaim: String) throws(TokenError) {
        issuer = token.registered.issuer
        subject = token.registered.subject
        clientID = token.claims["client_id"]?.string
        audience = token.registered.audience
        scope = try Self.scope(token.claims[scopeClaim], scopeClaim)
        expiration = token.registered.expiration
        claims = token.claims
    }

    /// Reads a scope: names with spaces between them, or, as some issuers write it, an array of names.
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

/// What a request needs beside a good token.
public struct AccessRequirement: Sendable, Hashable {
    /// The scope that the token must have, all of it.
    public var scope: [String]
    /// The authentication context classes that will do, best first; empty if any will
    /// ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)).
    public var acrValues: [String]
    /// How long ago the user may have authenticated at most; `nil` to not look at it.
    public var maximumAuthenticationAge: Duration?

    /// Makes a requirement.
    ///
    /// - Parameters:
    ///   - scope: The scope that the token must have.
    ///   - acrValues: The authentication context classes that will do.
    ///   - maximumAuthenticationAge: How long ago the user may have authenticated at most.
    public init(scope: [String] = [], acrValues: [String] = [], maximumAuthenticationAge: Duration? = nil) {
        self.scope = scope
        self.acrValues = acrValues
        self.maximumAuthenticationAge = maximumAuthenticationAge
    }
}
