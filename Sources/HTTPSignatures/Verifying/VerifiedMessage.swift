public import Foundation
import Networking
public import TokenGeneration

/// A message whose signatures a ``MessageVerifier`` has verified.
///
/// Only a verifier creates one. Use the values in it, and not those of the message, of which
/// anything may be unsigned:
///
/// ```swift
/// let verified = try await verifier.verify(message, body: body)
/// let method = verified[.method]
/// let account = accounts[verified.keyID]
/// ```
public struct VerifiedMessage: Sendable {
    /// The verified signature, or the first of several.
    public let signature: VerifiedSignature
    /// All verified signatures: more than one only with `SignatureProfile.SignatureCount.all`.
    public let signatures: [VerifiedSignature]

    /// The ID of the key that signed the message.
    public var keyID: String? { signature.parameters.keyID }

    /// Returns the value of a covered component.
    ///
    /// - Parameter component: The component.
    /// - Returns: The value, or `nil` if the signature doesn't cover the component.
    public subscript(component: ComponentIdentifier) -> String? { signature[component] }
}

/// A verified signature.
public struct VerifiedSignature: Sendable {
    /// The key that verified the signature.
    public let key: VerificationKey
    /// The covered components with their values, in order.
    public let lines: [SignatureBase.Line]
    /// The parameters.
    public let parameters: SignatureParameters
    /// The URL of the signer's keys, if the signature covers a `Signature-Agent`.
    public let agent: URL?

    /// Returns the value of a covered component.
    ///
    /// - Parameter component: The component.
    /// - Returns: The value, or `nil` if the signature doesn't cover the component.
    public subscript(component: ComponentIdentifier) -> String? {
        lines.first { $0.component == component }?.value
    }
}

extension VerifiedSignature: Redacted {
    /// The key's ID, the tag and the covered components, without their values.
    public var description: String {
        let components = parameters.components.map(\.description).joined(separator: " ")
        return "signature by \(parameters.keyID ?? "a key without an ID") over \(components)"
    }
}
