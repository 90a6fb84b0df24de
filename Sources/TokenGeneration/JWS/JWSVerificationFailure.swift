/// The valid and invalid signatures of a JSON serialization that a policy rejected.
///
/// It's the cause of a ``TokenError`` with the code `insufficientSignatures`, for the caller's
/// logs.
public struct JWSVerificationFailure: Error, Sendable {
    /// The indices of the valid signatures, from 0.
    public let verifiedIndices: [Int]
    /// The other signatures, with the reason for each rejection.
    public let refusals: [VerifiedJWS.Refusal]
}
