import Foundation
import JWTKit

/// The six claims of every token in the benchmarks, for both libraries.
struct Claims: Codable, Sendable {
    let iss: String
    let sub: String
    let aud: String
    let iat: Date
    let exp: Date
    let jti: String

    static let sample = Claims(
        iss: "https://issuer.example",
        sub: "8f6c6a0c-1f51-4a63-9a54-0d3c0b6cde5e",
        aud: "https://api.example",
        iat: Date(timeIntervalSince1970: 1_767_225_600),
        exp: Date(timeIntervalSince1970: 4_102_444_800),
        jti: "b2f7a1c4d9e84f0c"
    )
}

/// The same checks as our policy, because jwt-kit leaves validation to the payload.
extension Claims: JWTPayload {
    func verify(using _: some JWTAlgorithm) throws {
        guard exp > Date() else {
            throw JWTError.claimVerificationFailure(failedClaim: ExpirationClaim(value: exp), reason: "expired")
        }
        guard iss == Self.sample.iss else {
            throw JWTError.claimVerificationFailure(failedClaim: IssuerClaim(value: iss), reason: "issuer")
        }
        guard aud == Self.sample.aud else {
            throw JWTError.claimVerificationFailure(failedClaim: AudienceClaim(value: aud), reason: "audience")
        }
    }
}
