import Foundation
import Networking

extension MessageVerifier {
    /// Returns the `Accept-Signature` for the sender of a request, or `nil` without a nonce
    /// ([RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5)).
    func challenge(for message: HTTPMessage, hasContent: Bool, at now: Date) -> String? {
        let label = "sig1"
        var components = profile.requirements(for: message, hasContent: hasContent).compactMap(\.first)
        if profile.requiresSignatureAgent { components.append(ComponentIdentifier("signature-agent").member(label)) }
        var parameters = StructuredField.Parameters()
        parameters["created"] = .boolean(true)
        if profile.requiredParameters.contains("expires") { parameters["expires"] = .boolean(true) }
        // The ID of the wanted key would tell the sender who may use the resource (§8.3).
        if let nonces {
            guard let nonce = nonces.nonce(at: now) else { return nil }
            parameters["nonce"] = .string(nonce)
        }
        if let tag = profile.tag { parameters["tag"] = .string(tag) }
        let list = StructuredField.InnerList(components.map(\.item), parameters: parameters)
        return try? StructuredField.Dictionary([(label, .innerList(list))]).serialized()
    }
}
