import Networking
import OAuth2
import TokenGeneration

extension AccessTokenVerifier {
    func invalidToken(_ presented: PresentedToken, _ message: String, cause: TokenError? = nil) -> AccessRefusal {
        AccessRefusal(
            .invalidToken,
            message,
            cause: cause,
            challenges: challenges(presented.scheme, .invalidToken, Self.description(of: cause?.code))
        )
    }

    /// Returns a challenge for each accepted scheme, with the error for the scheme that was used,
    /// or for all if none was.
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
