public import Foundation
public import Networking
import OAuth2
public import TokenGeneration

/// The rejection of a request, with the response to send.
///
/// ```swift
/// return Response(status: refusal.status, headers: refusal.headers)
/// ```
///
/// The texts never contain a token, or a claim's value other than names of scope. The challenge
/// tells the client less than the ``message``. Two refusals are equal if their codes are.
public struct AccessRefusal: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The reason for the rejection.
    public let code: Code
    /// A description of the reason, for a log, without secrets.
    public let message: String
    /// The error that caused this one, usually a `TokenError` or an `OAuth2Error`.
    public let cause: (any Error)?
    /// The challenges for the client, in the order in which they are sent.
    public let challenges: [AuthenticationChallenge]
    var nonce: String?

    /// Creates a refusal, for example for an application's own rule.
    public init(
        _ code: Code,
        _ message: String,
        cause: (any Error)? = nil,
        challenges: [AuthenticationChallenge] = []
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.challenges = challenges
    }

    private static let longestRetryAfter = Duration.seconds(300)

    /// The status code of the response: 400, 401, 403 or 503.
    public var status: Int { code.status }

    /// The header fields of the response: `WWW-Authenticate`, `DPoP-Nonce` and `Retry-After` where
    /// they apply, and `Cache-Control`.
    ///
    /// `Retry-After` is at most 5 minutes, even if the server that the API depends on asks for
    /// more.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers["WWW-Authenticate"] = AuthenticationChallenge.format(challenges)
        headers["DPoP-Nonce"] = nonce
        if code == .undecided, let delay = (cause as? OAuth2Error)?.retryAfter {
            let limited = min(max(delay, .zero), Self.longestRetryAfter).components
            headers["Retry-After"] = String(limited.seconds + (limited.attoseconds > 0 ? 1 : 0))
        }
        // A cache must not serve one sender's response to another.
        headers["Cache-Control"] = "no-store"
        return headers
    }

    /// The reason for a rejection.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The request has no access token.
        case noToken
        /// The request has several access tokens or a malformed one: `invalid_request`.
        case malformedRequest
        /// The token is invalid, or meant for another server or sender: `invalid_token`.
        case invalidToken
        /// The DPoP proof is missing or invalid: `invalid_dpop_proof`.
        case invalidProof
        /// The DPoP proof needs the nonce in the response: `use_dpop_nonce`.
        case nonceNeeded
        /// The token has insufficient scope: `insufficient_scope`.
        case insufficientScope
        /// The user must authenticate again, or more strongly: `insufficient_user_authentication`.
        case insufficientAuthentication
        /// The token couldn't be verified for a reason on the server's side.
        ///
        /// The keys, the introspection endpoint or the status list are unreachable, or the replay
        /// cache is full.
        case undecided

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }

        var status: Int {
            switch self {
            case .noToken, .invalidToken, .invalidProof, .nonceNeeded, .insufficientAuthentication: 401
            case .malformedRequest: 400
            case .insufficientScope: 403
            case .undecided: 503
            }
        }
    }

    /// Returns a Boolean value that indicates whether two refusals have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// A text for a log: the code, the message and the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for Foundation's error APIs.
    public var errorDescription: String? { description }
}

extension AccessTokenVerifier {
    func invalidToken(_ presented: PresentedToken, _ message: String, cause: TokenError? = nil) -> AccessRefusal {
        AccessRefusal(
            .invalidToken,
            message,
            cause: cause,
            challenges: challenges(presented.scheme, .invalidToken, Self.description(of: cause?.code))
        )
    }

    /// The scheme that was used has the error, or all have it if none was.
    func challenges(
        _ used: PresentedToken.Scheme?,
        _ error: AuthenticationChallenge.BearerError?,
        _ description: String?,
        _ demand: ResourceDemand = ResourceDemand()
    ) -> [AuthenticationChallenge] {
        var schemes: [PresentedToken.Scheme] = [.bearer]
        if dpop != nil { schemes = requiresBoundTokens ? [.dpop] : [.bearer, .dpop] }
        if let used { schemes = [used] + schemes.filter { $0 != used } }
        return schemes.map { scheme in
            used == nil || used == scheme
                ? challenge(scheme, error, description, demand) : challenge(scheme, nil, nil, ResourceDemand())
        }
    }

    func challenge(
        _ scheme: PresentedToken.Scheme,
        _ error: AuthenticationChallenge.BearerError?,
        _ description: String?,
        _ demand: ResourceDemand
    ) -> AuthenticationChallenge {
        var demand = demand
        demand.resourceMetadata = resourceMetadata
        var parameters = demand.parameters(realm: realm, error: error, description: description)
        if scheme == .dpop, let dpop {
            let names = dpop.algorithms.filter { !$0.isSymmetric }.map(\.rawValue).sorted()
            parameters["algs"] = names.joined(separator: " ")
        }
        return AuthenticationChallenge(scheme: scheme.rawValue, parameters: parameters)
    }

    /// Returns the description of an invalid token: enough to tell whether a new one can help.
    private static func description(of code: TokenError.Code?) -> String {
        switch code {
        case .expired, .tooOld: "The access token has expired"
        case .notYetValid, .issuedInFuture: "The access token is not valid yet"
        case .audienceMismatch: "The access token is not for this resource"
        case .typeMismatch: "This is not an access token"
        case .confirmationMismatch: "Invalid key binding"
        default: "The access token is not valid"
        }
    }
}

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
    /// [RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3).
    fileprivate var isDescriptionCharacter: Bool {
        (0x20...0x7E).contains(value) && self != "\"" && self != "\\"
    }
}
