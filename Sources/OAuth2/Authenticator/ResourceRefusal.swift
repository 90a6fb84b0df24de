import Foundation
import Networking
import TokenGeneration

/// The meaning of a response to a request with a token, on which the authenticator decides.
struct ResourceRefusal {
    enum Kind: Hashable {
        /// A response that isn't about authentication.
        case unrelated
        /// The resource requires a nonce in the DPoP proof
        /// ([RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)).
        case nonceNeeded
        case proofRejected
        /// The user must authenticate again, or more strongly
        /// ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)), or the token must
        /// have other claims.
        case stepUpRequired
        case insufficientScope
        /// A 403 without a reason.
        case forbidden
        /// The resource rejected the token
        /// ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)).
        case tokenRejected
        /// A 401 with an unknown error code.
        case unclear
    }

    let kind: Kind
    /// The challenge that determined the kind.
    let challenge: AuthenticationChallenge?

    /// Interprets a response to a request that carried the token with the scheme `DPoP` or not.
    ///
    /// Some servers put the error into the body.
    init(status: Int, headers: HTTPHeaders, body: Data?, isDPoP: Bool) {
        guard status == 400 || status == 401 || status == 403 else {
            self.init(.unrelated, nil)
            return
        }
        let challenges = AuthenticationChallenge.parse(headers.values(for: "WWW-Authenticate").joined(separator: ", "))
        let challenge = Self.challenge(in: challenges, isDPoP: isDPoP)
        let code = challenge?.parameters["error"]?.asciiOnly
        if isDPoP, status != 403 {
            let bodyCode = body.flatMap { $0.count <= 65_536 ? try? JSONObject(parsing: $0) : nil }?["error"]?.string?
                .asciiOnly
            if code == "use_dpop_nonce" && status == 401 || bodyCode == "use_dpop_nonce" {
                self.init(.nonceNeeded, challenge)
                return
            }
            if code == "invalid_dpop_proof" {
                self.init(.proofRejected, challenge)
                return
            }
        }
        switch (status, code) {
        case (401, "insufficient_user_authentication"), (401, ResourceDemand.claimsError):
            self.init(.stepUpRequired, challenge)
        case (401, "insufficient_scope"), (403, "insufficient_scope"): self.init(.insufficientScope, challenge)
        case (403, _): self.init(.forbidden, challenge)
        case (400, _), (_, "invalid_request"): self.init(.unrelated, challenge)
        case (_, nil) where !challenges.isEmpty && challenge == nil: self.init(.unrelated, nil)
        // The response is about the request's signature (RFC 9421 §5).
        case (_, nil) where headers["Accept-Signature"] != nil && challenge == nil: self.init(.unrelated, nil)
        case (_, nil), (_, "invalid_token"): self.init(.tokenRejected, challenge)
        default: self.init(.unclear, challenge)
        }
    }

    private init(_ kind: Kind, _ challenge: AuthenticationChallenge?) {
        self.kind = kind
        self.challenge = challenge
    }

    /// Interprets the response to an operation's earlier attempt.
    init?(_ error: any Error, isDPoP: Bool) {
        guard let error = error as? ServerError else { return nil }
        self.init(status: error.errorCode, headers: error.headers, body: error.response, isDPoP: isDPoP)
    }

    /// Returns the decisive challenge: one that names an error, preferably of the scheme that was
    /// used; otherwise the first of that scheme, or of the other OAuth scheme.
    private static func challenge(
        in challenges: [AuthenticationChallenge],
        isDPoP: Bool
    ) -> AuthenticationChallenge? {
        let schemes = isDPoP ? ["DPoP", "Bearer"] : ["Bearer", "DPoP"]
        let ours = schemes.flatMap { scheme in challenges.filter { $0.isOfScheme(scheme) } }
        return ours.first { $0.parameters["error"] != nil } ?? ours.first
    }
}
