public import Foundation
import Networking

/// The URL of a signer's keys in `Signature-Agent`
/// ([Web Bot Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
public struct SignatureAgent: Hashable, Sendable {
    /// The URL of the keys.
    public let url: URL
    /// A Boolean value that indicates whether the field is a plain string, as in early drafts.
    let isLegacy: Bool

    /// Creates an agent that is sent as a dictionary with the signature's label as its key.
    ///
    /// - Parameter url: The `https` URL of the key set.
    public init(url: URL) {
        self.url = url
        isLegacy = false
    }

    private init(legacy url: URL) {
        self.url = url
        isLegacy = true
    }

    /// Returns an agent that is sent as a plain string, for services that implement an early draft.
    ///
    /// - Parameter origin: The `https` origin of the agent.
    /// - Returns: The agent.
    public static func legacyString(_ origin: URL) -> Self { Self(legacy: origin) }

    /// The component that covers the agent in a signature with a label.
    func component(label: String) -> ComponentIdentifier {
        isLegacy ? "signature-agent" : ComponentIdentifier("signature-agent").member(label)
    }

    /// Returns the field of a message with the agent.
    ///
    /// - Parameters:
    ///   - label: The label of the signature.
    ///   - headers: The header fields of the message, which may have other agents.
    /// - Returns: The field's value.
    /// - Throws: ``HTTPSignatureError`` with the code `signingFailed` if the message has an agent
    ///   of the other form, or one with the same key.
    func field(label: String, in headers: HTTPHeaders) throws(HTTPSignatureError) -> String {
        let text = url.absoluteString
        let lines = headers.values(for: "Signature-Agent")
        do throws(NetworkError) {
            if isLegacy {
                guard lines.isEmpty else { throw NetworkError(.invalidRequest, "the message already has an agent") }
                return try StructuredField.Item(.string(text)).serialized()
            }
            var agents = try StructuredField.Dictionary(parsing: lines)
            guard agents[label] == nil else {
                throw NetworkError(.invalidRequest, "the message already has an agent with the label")
            }
            agents[label] = .item(StructuredField.Item(.string(text)))
            return try agents.serialized()
        } catch {
            throw HTTPSignatureError(.signingFailed, "can't add the agent to Signature-Agent", cause: error)
        }
    }
}
