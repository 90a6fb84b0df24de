/// Which signatures of a JSON serialization were good and which were not, where a policy needs more of them.
///
/// It is the cause of a ``TokenError`` with the code `insufficientSignatures`, for the caller's logs.
public struct JWSVerificationFailure: Error, Sendable {
    /// The places of the good signatures, from 0.
    public let verifiedIndices: [Int]
    /// The other signatures, and why they are not good.
    public let refusals: [VerifiedJWS.Refusal]
}
