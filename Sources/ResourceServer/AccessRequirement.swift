import Foundation
internal import Networking
import OAuth2
import TokenGeneration

/// The requirements of a request in addition to a valid token.
public struct AccessRequirement: Sendable, Hashable {
    /// The scope names that the token must have, all of them.
    public var scope: [String]
    /// The acceptable authentication context classes, best first; empty to accept all
    /// ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)).
    public var acrValues: [String]
    /// The maximum time since the user authenticated; `nil` to accept any.
    public var maximumAuthenticationAge: Duration?

    /// Creates a requirement.
    public init(scope: [String] = [], acrValues: [String] = [], maximumAuthenticationAge: Duration? = nil) {
        self.scope = scope
        self.acrValues = acrValues
        self.maximumAuthenticationAge = maximumAuthenticationAge
    }
}

extension AccessTokenVerifier {
    /// Checks further requirements of a request whose token is already verified.
    ///
    /// A server that verifies the token in one place and knows the route's requirement in another
    /// calls it there.
    ///
    /// ```swift
    /// try verifier.check(token, requires: AccessRequirement(scope: ["orders.write"]))
    /// ```
    ///
    /// - Parameters:
    ///   - token: The request's token, verified by ``verify(_:requires:)``.
    ///   - requirement: The requirements.
    /// - Throws: ``AccessRefusal`` with the code `insufficientScope` or
    ///   `insufficientAuthentication`, with the response to send.
    public func check(
        _ token: VerifiedAccessToken,
        requires requirement: AccessRequirement
    ) throws(AccessRefusal) {
        try check(requirement, token, token.binding == .key ? .dpop : .bearer)
    }

    func check(
        _ requirement: AccessRequirement,
        _ token: VerifiedAccessToken,
        _ scheme: PresentedToken.Scheme
    ) throws(AccessRefusal) {
        guard requirement.scope.allSatisfy({ name in token.scope.contains(where: name.isExactly) }) else {
            let demand = ResourceDemand(scope: requirement.scope)
            let challenge = challenge(scheme, .insufficientScope, "The access token has insufficient scope", demand)
            throw AccessRefusal(
                .insufficientScope,
                "the access token has insufficient scope: the request requires \(Self.shown(requirement.scope)), "
                    + "the token has \(Self.shown(token.scope))",
                challenges: [challenge]
            )
        }
        guard let shortcoming = shortcoming(of: token, requirement) else { return }
        let demand = ResourceDemand(
            acrValues: requirement.acrValues,
            maxAge: requirement.maximumAuthenticationAge
        )
        let challenge = challenge(scheme, .insufficientUserAuthentication, "The user must authenticate again", demand)
        throw AccessRefusal(.insufficientAuthentication, shortcoming, challenges: [challenge])
    }

    /// A token can have any number of names.
    private static func shown(_ scope: [String]) -> String {
        let names = scope.prefix(20).map(TokenError.shown).joined(separator: " ")
        return names.isEmpty ? "none" : scope.count > 20 ? "\(names) and \(scope.count - 20) more" : names
    }

    private func shortcoming(of token: VerifiedAccessToken, _ requirement: AccessRequirement) -> String? {
        if !requirement.acrValues.isEmpty {
            guard let found = token.claims["acr"]?.string, requirement.acrValues.contains(where: found.isExactly) else {
                return "the user hasn't authenticated with an accepted authentication context class"
            }
        }
        if let maximumAge = requirement.maximumAuthenticationAge {
            let now = policy.currentDate().timeIntervalSince1970
            let leeway = max(policy.leeway, .zero) / .seconds(1)
            guard let time = token.claims["auth_time"]?.number?.double, time <= now + leeway else {
                return "the time of the user's authentication is unknown"
            }
            guard now - time <= maximumAge / .seconds(1) + leeway else {
                return "the user authenticated too long ago"
            }
        }
        return nil
    }
}
