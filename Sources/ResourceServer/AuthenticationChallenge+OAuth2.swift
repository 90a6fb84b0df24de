public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

extension AuthenticationChallenge {
    /// An error code in a resource server's challenge.
    public struct BearerError: Hashable, Sendable, CustomStringConvertible {
        /// The code as in the challenge's `error`.
        public let rawValue: String

        /// The code.
        public var description: String { rawValue }

        /// The request is malformed; the status is 400
        /// ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)).
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The token is expired, revoked, malformed or otherwise invalid; the status is 401.
        public static let invalidToken = Self(rawValue: "invalid_token")
        /// The token has insufficient scope; the status is 403.
        public static let insufficientScope = Self(rawValue: "insufficient_scope")
        /// The user must authenticate again, or more strongly; the status is 401
        /// ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)).
        public static let insufficientUserAuthentication = Self(rawValue: "insufficient_user_authentication")
        /// The DPoP proof is invalid; the status is 401
        /// ([RFC 9449 §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)).
        public static let invalidDPoPProof = Self(rawValue: "invalid_dpop_proof")
        /// The DPoP proof needs the nonce in the response, whose status is 401
        /// ([RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)).
        public static let useDPoPNonce = Self(rawValue: "use_dpop_nonce")
    }

    /// Returns a `Bearer` challenge
    /// ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)) for an application's own
    /// 401 or 403 response.
    ///
    /// ```swift
    /// let challenge = AuthenticationChallenge.bearer(
    ///     realm: "orders",
    ///     error: .insufficientScope,
    ///     scope: ["orders.write"]
    /// )
    /// response.headers["WWW-Authenticate"] = AuthenticationChallenge.format([
    ///     challenge
    /// ])
    /// ```
    ///
    /// The challenge to a request without credentials has no error. Characters that a parameter
    /// can't contain are replaced: a quotation mark in the description by `'`, all others by `?`.
    ///
    /// - Parameters:
    ///   - realm: The name of the protected area. The default is `nil`.
    ///   - error: The reason for the rejection. The default is `nil`, for missing credentials.
    ///   - description: The reason for developers, in ASCII. The default is `nil`.
    ///   - scope: The scope that the request needs. The default is empty.
    ///   - acrValues: The acceptable authentication context classes, best first
    ///     ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)). The default is empty.
    ///   - maxAge: The maximum time since the user authenticated, in whole seconds. The default is
    ///     `nil`.
    ///   - resourceMetadata: The URL of the protected resource's metadata
    ///     ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)). The default is
    ///     `nil`.
    /// - Returns: The challenge, for `AuthenticationChallenge.format(_:)`.
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

    /// Returns a `DPoP` challenge
    /// ([RFC 9449 §7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)) for an application's
    /// own 401 or 403 response.
    ///
    /// - Parameters:
    ///   - algorithms: The accepted algorithms of proofs; empty to omit them.
    ///   - realm: The name of the protected area. The default is `nil`.
    ///   - error: The reason for the rejection. The default is `nil`, for missing credentials.
    ///   - description: The reason for developers, in ASCII. The default is `nil`.
    ///   - scope: The scope that the request needs. The default is empty.
    ///   - acrValues: The acceptable authentication context classes, best first. The default is
    ///     empty.
    ///   - maxAge: The maximum time since the user authenticated, in whole seconds. The default is
    ///     `nil`.
    ///   - resourceMetadata: The URL of the protected resource's metadata. The default is `nil`.
    /// - Returns: The challenge, for `AuthenticationChallenge.format(_:)`.
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
    /// Returns the parameters of a challenge that states the demand, without invalid characters.
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
        // A URL's text has only characters that a quoted string can contain, unless it was built
        // from unusual components.
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
    /// A Boolean value that indicates whether `error_description` may contain the character
    /// ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)).
    fileprivate var isDescriptionCharacter: Bool {
        (0x20...0x7E).contains(value) && self != "\"" && self != "\\"
    }
}
