package import Foundation

/// The verification of one signature of a recorded message, for a person who looks for a
/// difference.
package struct SignatureFinding: Sendable {
    /// The label, which isn't signed.
    package let label: String
    /// The parameters and the covered components, or `nil` if they are malformed.
    package let parameters: SignatureParameters?
    /// The signature base, or `nil` if it can't be built from the message.
    package let base: SignatureBase?
    /// A Boolean value that indicates whether the signature has the profile's tag.
    package let isSelected: Bool
    /// The verified signature, or the first check that failed.
    package var result: Result<VerifiedSignature, HTTPSignatureError>
}

extension MessageVerifier {
    /// Verifies a recorded message with its content as received, or `nil` if there was content that
    /// wasn't recorded.
    ///
    /// - Throws: ``HTTPSignatureError`` as ``verify(_:body:)`` does, and with the code `undecided`
    ///   if the digest of missing content would have to be checked.
    package func verify(
        recorded message: HTTPMessage,
        content: Data?
    ) async throws(HTTPSignatureError) -> VerifiedMessage {
        let (verified, checks) = try await verify(message, Content(content))
        guard content != nil || checks.allSatisfy({ $0.digest == nil }) else { throw Self.missingContent }
        return verified
    }

    /// Verifies each signature of a recorded message, including those without the profile's tag,
    /// with the content as for ``verify(recorded:content:)``.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `noSignature`, `malformedSignature` or
    ///   `tooLarge`.
    package func findings(
        in message: HTTPMessage,
        content: Data?
    ) async throws(HTTPSignatureError) -> [SignatureFinding] {
        let fields = try SignatureFields(message.headers)
        let now = currentDate()
        let selected = fields.labels(withTag: profile.tag)
        var findings: [SignatureFinding] = []
        for label in fields.allLabels {
            let parameters = try? fields.signature(label).parameters
            let check = SignatureCheck(verifier: self, fields: fields, label: label, message: message, now: now)
            let result: Result<VerifiedSignature, HTTPSignatureError>
            do throws(SignatureFailure) {
                let (signature, check) = try await check.verify(Content(content))
                result = content == nil && check.digest != nil ? .failure(Self.missingContent) : .success(signature)
            } catch {
                result = .failure(error.error)
            }
            findings.append(
                SignatureFinding(
                    label: label,
                    parameters: parameters,
                    base: parameters.flatMap {
                        try? SignatureBase(of: message, parameters: $0, fieldTypes: profile.fieldTypes)
                    },
                    isSelected: selected.contains { $0.utf8.elementsEqual(label.utf8) },
                    result: result
                )
            )
        }
        return findings
    }

    private static var missingContent: HTTPSignatureError {
        HTTPSignatureError(.undecided, "the recording lacks the content, so its digest can't be checked")
    }
}
