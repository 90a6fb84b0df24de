import Foundation
import Networking
import OAuth2
internal import OpenSSLCrypto
import TokenGeneration

extension AccessTokenVerifier {
    /// Checks that the sender of a token may use it, and sets the token's binding.
    func checkBinding(
        of token: inout VerifiedAccessToken,
        _ presented: PresentedToken,
        _ request: ProtectedRequest
    ) async throws(AccessRefusal) {
        let confirmation: Confirmation
        do { confirmation = try Confirmation(token.claims["cnf"]) } catch {
            throw invalidToken(presented, "the access token's “cnf” can't be used: \(error.message)", cause: error)
        }
        if let expected = confirmation.certificateThumbprint {
            guard let certificate = request.clientCertificateDER,
                let found = Self.thumbprint(of: certificate), found.isExactly(expected)
            else {
                let message = "the access token is bound to a certificate that the client didn't present"
                throw invalidToken(presented, message)
            }
            token.binding = .certificate
        }
        switch (presented.scheme, confirmation.keyThumbprint) {
        case (.bearer, _?):
            throw invalidToken(presented, "the access token is bound to a key but was sent without a DPoP proof")
        case (.dpop, nil):
            throw invalidToken(presented, "the access token was sent with the scheme DPoP but isn't bound to a key")
        case (.dpop, let thumbprint?):
            token.responseHeaders = try await checkProof(request, presented, thumbprint: thumbprint)
            token.binding = .key
        case (.bearer, nil):
            guard !requiresBoundTokens || token.binding != .none else {
                throw invalidToken(presented, "this server requires access tokens bound to a key or certificate")
            }
        }
    }

    private func checkProof(
        _ request: ProtectedRequest,
        _ presented: PresentedToken,
        thumbprint: String
    ) async throws(AccessRefusal) -> HTTPHeaders {
        guard let dpop else { throw invalidToken(presented, "this server doesn't accept key-bound tokens") }
        let proofs = request.headers.values(for: "DPoP")
        guard let proof = proofs.first, proofs.count == 1 else {
            throw invalidProof(presented, "the request has \(proofs.isEmpty ? "no" : "more than one") DPoP proof")
        }
        var accepted: [String]?
        do {
            accepted = try await nonces?.accepted(at: policy.currentDate())
            guard accepted?.isEmpty != true else {
                throw OAuth2Error(.assertionFailed, "the source of nonces for DPoP proofs returned none")
            }
            let found = try await dpop.verify(
                proof,
                method: request.method.rawValue,
                url: request.url,
                for: .resource(accessToken: DPoPAccessToken(presented.text, thumbprint: thumbprint)),
                nonce: accepted.map { .oneOf($0) } ?? .notRequired
            )
            guard let next = accepted?.first, found.nonce?.isExactly(next) != true else { return [:] }
            return ["DPoP-Nonce": next]
        } catch let error as TokenError {
            throw refusal(of: error, presented, nonce: accepted?.first)
        } catch {
            throw AccessRefusal(.undecided, "the DPoP proof couldn't be verified", cause: error)
        }
    }

    private func refusal(of error: TokenError, _ presented: PresentedToken, nonce: String?) -> AccessRefusal {
        switch error.code {
        case .nonceMismatch:
            var refusal = AccessRefusal(
                .nonceNeeded,
                "the DPoP proof doesn't have an accepted nonce",
                cause: error,
                challenges: challenges(.dpop, .useDPoPNonce, "The DPoP proof needs the nonce of this response")
            )
            refusal.nonce = nonce
            return refusal
        case .confirmationMismatch:
            let message = "the access token is bound to another key than that of the DPoP proof"
            return invalidToken(presented, message, cause: error)
        case .replayCacheFull, .replayCacheFailed, .signingFailed:
            return AccessRefusal(.undecided, "the DPoP proof couldn't be verified: \(error.message)", cause: error)
        default:
            return invalidProof(presented, "the DPoP proof is invalid: \(error.message)", cause: error)
        }
    }

    private func invalidProof(
        _ presented: PresentedToken,
        _ message: String,
        cause: TokenError? = nil
    ) -> AccessRefusal {
        AccessRefusal(
            .invalidProof,
            message,
            cause: cause,
            challenges: challenges(.dpop, .invalidDPoPProof, "The DPoP proof is missing or not valid")
        )
    }

    /// `x5t#S256` ([RFC 8705 §3.1](https://www.rfc-editor.org/rfc/rfc8705#section-3.1)).
    private static func thumbprint(of certificate: Data) -> String? {
        let digest = try? Array(certificate).withBytes { bytes throws(CryptoError) in
            try HashFunction.sha256.hash(bytes)
        }
        return digest.map { Base64URL.encode($0) }
    }
}

/// [RFC 7800 §3.1](https://www.rfc-editor.org/rfc/rfc7800#section-3.1).
private struct Confirmation {
    private(set) var keyThumbprint: String?
    private(set) var certificateThumbprint: String?

    /// If all members of `cnf` are unknown, the issuer didn't mean the token to be usable by any
    /// holder.
    init(_ claim: JSONValue?) throws(TokenError) {
        guard let claim else { return }
        guard let members = claim.object else {
            throw TokenError(.malformedClaim, "the claim “cnf” must be an object")
        }
        keyThumbprint = try Self.text(members["jkt"])
        certificateThumbprint = try Self.text(members["x5t#S256"])
        guard keyThumbprint != nil || certificateThumbprint != nil else {
            throw TokenError(.confirmationMismatch, "the token is bound by an unsupported confirmation method")
        }
    }

    private static func text(_ value: JSONValue?) throws(TokenError) -> String? {
        guard let value else { return nil }
        guard let text = value.string else {
            throw TokenError(.malformedClaim, "a thumbprint in the claim “cnf” must be a string")
        }
        return text
    }
}
