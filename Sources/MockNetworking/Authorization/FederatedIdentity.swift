import Foundation
import Networking
import TokenGeneration

/// The identity that a platform gives the workload of a client.
struct FederatedIdentity: Sendable {
    let issuer: String?
    let subject: String
    let key: VerificationKey

    /// Returns a Boolean value that indicates whether unverified claims name the identity.
    func isNamed(in claims: JSONObject) -> Bool {
        claims["iss"]?.string == issuer && claims["sub"]?.string == subject
    }

    var isSPIFFE: Bool { (try? SPIFFEID(subject)) != nil }

    /// Verifies a token of the platform.
    func verify(_ token: String, audience: AudienceRule, at date: Date) throws(TokenError) {
        var policy = ValidationPolicy(
            issuer: issuer.map { .exactly($0) } ?? .absent,
            audience: audience,
            subject: .exactly(subject),
            leeway: .seconds(10)
        )
        policy.currentDate = { date }
        _ = try JWTVerifier(key: key, policy: policy).verify(token)
    }
}

extension ClientRegister {
    /// Returns the client to whose workload a platform has issued a token, or `nil` if the token
    /// names no client's workload.
    ///
    /// The default audience is the issuer or the token endpoint, as for a grant
    /// ([RFC 10070 §5](https://www.rfc-editor.org/rfc/rfc10070#section-5)).
    ///
    /// - Throws: ``TokenEndpointError`` with the code, if the token isn't valid.
    func client(
        federatedBy token: String,
        audience: AudienceRule? = nil,
        code: String
    ) throws(TokenEndpointError) -> Client? {
        guard let claims = try? UnverifiedToken(token).unverifiedClaims else { return nil }
        for client in all {
            guard let identity = client.federatedIdentity, identity.isNamed(in: claims) else { continue }
            let audience = audience ?? .containsAny(of: audiences)
            do { try identity.verify(token, audience: audience, at: configuration.serverTime.date()) } catch {
                throw TokenEndpointError(
                    code: code,
                    description: "the platform's token isn't valid: \(error.code)",
                    status: code == "invalid_client" ? 401 : 400
                )
            }
            return client
        }
        return nil
    }
}

extension MockAuthorizationServer.Client {
    var federatedIdentity: FederatedIdentity? {
        if case .federated(let identity) = credential { identity } else { nil }
    }
}
