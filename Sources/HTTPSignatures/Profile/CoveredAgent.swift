import Foundation
import Networking

/// The `Signature-Agent` that a signature covers.
enum CoveredAgent {
    /// Returns the URL of the agent, or `nil` if the signature doesn't cover one.
    ///
    /// A signature is attributed only to a member that it covers: the one with its label, or the
    /// only one, because the label may have changed on the way.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedComponent` if the covered agent
    ///   isn't an `https` URL, or `insufficientCoverage` if several are covered and none has the
    ///   signature's label.
    static func url(
        in parameters: SignatureParameters,
        label: String,
        _ message: HTTPMessage
    ) throws(HTTPSignatureError) -> URL? {
        let covering = parameters.components.filter {
            $0.name == "signature-agent" && !$0.has("req") && !$0.has("tr") && !$0.has("bs")
        }
        guard !covering.isEmpty else { return nil }
        let keys = covering.compactMap { $0.text(of: "key") }
        let lines = message.headers.values(for: "Signature-Agent")
        guard !lines.isEmpty else {
            throw HTTPSignatureError(.missingComponent, "the message has no Signature-Agent")
        }
        let text: String?
        if keys.isEmpty {
            text = (try? StructuredField.Item(parsing: lines)).flatMap(string)
        } else {
            let key = keys.first { $0.utf8.elementsEqual(label.utf8) } ?? (keys.count == 1 ? keys[0] : nil)
            guard let key else {
                throw HTTPSignatureError(
                    .insufficientCoverage,
                    "the signature covers several agents, but none with its label"
                )
            }
            let agents = try? StructuredField.Dictionary(parsing: lines)
            if case .item(let item)? = agents?[key] { text = string(item) } else { text = nil }
        }
        guard let text, let uri = try? TargetURI(text), uri.scheme == "https",
            let url = URL(string: text, encodingInvalidCharacters: false)
        else {
            throw HTTPSignatureError(.malformedComponent, "the covered Signature-Agent isn't an https URL")
        }
        return url
    }

    /// Returns a string without parameters, which the draft forbids.
    private static func string(_ item: StructuredField.Item) -> String? {
        guard case .string(let text) = item.value, item.parameters.isEmpty else { return nil }
        return text
    }
}
