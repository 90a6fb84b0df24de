public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

extension AuthenticationChallenge {
    /// The errors that a resource server states in a challenge.
    public struct BearerError: Hashable, Sendable, CustomStringConvertible {
        /// The code as it stands in the challenge's `error`.
        public let rawValue: String

        /// The code.
        public var description: String { rawValue }

        /// The request is malformed; the status is 400 ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)).
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The token is expired, revoked, malformed or invalid for other reasons; the status is 401.
        public static let invalidToken = Self(rawValue: "invalid_token")
        /// The token has too little scope; the status is 403.
        public static let insufficientScope = Self(rawValue: "insufficient_scope")
        /// The user must authenticate anew, or more strongly; the status is 401
        /// ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)).
        public static let insufficientUserAuthentication = Self(rawValue: "insufficient_user_authentication")
        /// The DPoP proof is invalid; the status is 401 ([RFC 9449 §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)).
        public static let invalidDPoPProof = Self(rawValue: "invalid_dpop_proof")
        /// The DPoP proof needs the nonce that comes with the response, whose status is 401
        /// ([RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)).
        public static let useDPoPNonce = Self(rawValue: "use_dpop_nonce")
    }

    /// A `Bearer` challenge ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)) for your own 401 or 403.
    ///
    /// ```swift
    /// let challenge = AuthenticationChallenge.bearer(realm: "orders", error: .insufficientScope, scope: ["orders.write"])
    /// response.headers["WWW-Authenticate"] = AuthenticationChallenge.format([challenge])
    /// ```
    ///
    /// A request without credentials is answered without an error. A character that a parameter can't have is replaced: in the
    /// description by `'` for a quotation mark, and by `?` otherwise.
    ///
    /// - Parameters:
    ///   - realm: What is protected.
    ///   - error: Why the request was refused; `nil` if it came without credentials.
    ///   - description: The reason for developers, in ASCII.
    ///   - scope: The scope that the request needs.
    ///   - acrValues: The authentication context classes that would do, best first
    ///     ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)).
    ///   - maxAge: How long ago the user may have authenticated at most; written in whole seconds.
    ///   - resourceMetadata: Where the protected resource's metadata are
    ///     ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)).
    /// - Returns: The challenge, which `AuthenticationChallenge.format(_:)` can write.
    public static func bearer(
        realm: String? = nil,
        error: BearerError? = nil,
        description: String? = nil,
        scope: [String] = [],
        acrValues: [String] = [],
        maxAge: Duration? = nil,
        resourceMetadata: URL? = nil
    ) -> AuthenticationChallenge {
        let demand = ResourceDemand(
            scope: scope,
            acrValues: acrValues,
            maxAge: maxAge,
            resourceMetadata: resourceMetadata
        )
        return AuthenticationChallenge(
            scheme: "Bearer",
            parameters: demand.parameters(realm: realm, error: error, description: description)
        )
    }

    /// A `DPoP` challenge ([RFC 9449 §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)) for your own 401 or 403.
    ///
    /// - Parameters:
    ///   - algorithms: What proofs may be signed with; empty to not say it.
    ///   - realm: What is protected.
    ///   - error: Why the request was refused; `nil` if it came without credentials.
    ///   - description: The reason for developers, in ASCII.
    ///   - scope: The scope that the request needs.
    ///   - acrValues: The authentication context classes that would do, best first.
    ///   - maxAge: How long ago the user may have authenticated at most; written in whole seconds.
    ///   - resourceMetadata: Where the protected resource's metadata are.
    /// - Returns: The challenge, which `AuthenticationChallenge.format(_:)` can write.
    public static func dpop(
        algorithms: some Collection<JWSAlgorithm>,
        realm: String? = nil,
        error: BearerError? = nil,
        description: String? = nil,
        scope: [String] = [],
        acrValues: [String] = [],
        maxAge: Duration? = nil,
        resourceMetadata: URL? = nil
    ) -> AuthenticationChallenge {
        let demand = ResourceDemand(
            scope: scope,
            acrValues: acrValues,
            maxAge: maxAge,
            resourceMetadata: resourceMetadata
        )
        var parameters = demand.parameters(realm: realm, error: error, description: description)
        if !algorithms.isEmpty { parameters["algs"] = algorithms.map(\.rawValue).sorted().joined(separator: " ") }
        return AuthenticationChallenge(scheme: "DPoP", parameters: parameters)
    }
}

extension ResourceDemand {
    /// The parameters of a challenge that makes the demand, with no character in them that they can't have.
    func parameters(
        realm: String?,
        error: AuthenticationChallenge.BearerError?,
        description: String?
    ) -> [String: String] {
        var parameters: [String: String] = [:]
        parameters["realm"] = realm.map { $0.replacing { $0.properties.generalCategory == .control } }
        parameters["error"] = error?.rawValue
        parameters["error_description"] = description.map { text in
            text.replacingOccurrences(of: "\"", with: "'").replacing { !$0.isDescriptionCharacter }
        }
        if !scope.isEmpty { parameters["scope"] = Self.list(scope) }
        if !acrValues.isEmpty { parameters["acr_values"] = Self.list(acrValues) }
        if let maxAge { parameters["max_age"] = String(max(maxAge, .zero).components.seconds) }
        // A URL's text has no character that a quoted string can't have; one made of odd parts may.
        parameters["resource_metadata"] = resourceMetadata.map { url in
            url.absoluteString.replacing { $0.properties.generalCategory == .control }
        }
        return parameters
    }

    private static func list(_ names: [String]) -> String {
        names.map { $0.replacing { $0 == " " || !$0.isDescriptionCharacter } }.joined(separator: " ")
    }
}

extension String {
    fileprivate func replacing(_ isReplaced: (Unicode.Scalar) -> Bool) -> String {
        var text = ""
        for scalar in unicodeScalars { text.unicodeScalars.append(isReplaced(scalar) ? "?" : scalar) }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether it may stand in `error_description` ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)).
    fileprivate var isDescriptionCharacter: Bool {
        (0x20...0x7E).contains(value) && self != "\"" && self != "\\"
    }
}
