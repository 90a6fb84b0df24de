import Foundation
import Networking

/// A message that gets signatures, and the fields that have changed.
struct SignedFields {
    private(set) var message: HTTPMessage
    private(set) var changes: HTTPHeaders = [:]

    mutating func set(_ name: String, _ value: String) {
        message.headers[name] = value
        changes[name] = value
    }

    /// Returns the label, or the first one after it that the message doesn't have.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `signingFailed` if the message's own
    ///   signatures are malformed.
    func freeLabel(_ label: String) throws(HTTPSignatureError) -> String {
        guard message.headers["Signature-Input"] != nil || message.headers["Signature"] != nil else { return label }
        do {
            let taken = try StructuredField.Dictionary(parsing: message.headers.values(for: "Signature-Input")).keys
            let others = try StructuredField.Dictionary(parsing: message.headers.values(for: "Signature")).keys
            var (free, number) = (label, 2)
            while taken.contains(free) || others.contains(free) {
                free = "\(label)-\(number)"
                number += 1
            }
            return free
        } catch {
            throw HTTPSignatureError(
                .signingFailed,
                "the message has a malformed Signature or Signature-Input; remove it",
                cause: error
            )
        }
    }

    /// Adds a signature next to the ones that the message has.
    mutating func add(
        _ label: String,
        _ base: SignatureBase,
        _ signature: Data
    ) throws(HTTPSignatureError) {
        guard StructuredFieldSyntax.isKey(label) else {
            throw HTTPSignatureError(
                .signingFailed,
                "the signature's label must be a key of a structured field, such as “sig1”"
            )
        }
        append(label + "=" + base.serializedParameters, to: "Signature-Input")
        append(label + "=:" + signature.base64EncodedString() + ":", to: "Signature")
    }

    private mutating func append(_ member: String, to name: String) {
        let lines = message.headers.values(for: name)
        set(name, lines.isEmpty ? member : (lines + [member]).joined(separator: ", "))
    }
}

extension [ComponentIdentifier] {
    /// Adds everything that covered signatures of others cover.
    ///
    /// A signature alone doesn't identify the message that it was made for
    /// ([RFC 9421 §7.3.7](https://www.rfc-editor.org/rfc/rfc9421#section-7.3.7)).
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedComponent` if a covered
    ///   `Signature-Input` can't be parsed.
    mutating func coverSignatures(of message: HTTPMessage) throws(HTTPSignatureError) {
        for component in self where component.name == "signature" && !component.has("tr") {
            var input = ComponentIdentifier("signature-input", parameters: component.parameters)
            if component.has("bs") || component.has("sf") { input = ComponentIdentifier("signature-input") }
            let isAboutRequest = component.has("req")
            if isAboutRequest, !input.has("req") { input = input.ofRequest }
            cover(input)
            let source = isAboutRequest ? message.request : message
            let lines = source?.headers.values(for: "Signature-Input") ?? []
            let field: StructuredField.Dictionary
            do { field = try StructuredField.Dictionary(parsing: lines) } catch {
                throw HTTPSignatureError(.malformedComponent, "the covered Signature-Input is malformed", cause: error)
            }
            for (label, member) in field {
                if let key = component.text(of: "key"), !key.utf8.elementsEqual(label.utf8) { continue }
                guard case .innerList(let list) = member else { continue }
                for item in list.items {
                    guard let covered = try? ComponentIdentifier(item) else { continue }
                    cover(isAboutRequest ? covered.ofRequest : covered)
                }
            }
        }
    }

    private mutating func cover(_ component: ComponentIdentifier) {
        if !contains(component) { append(component) }
    }
}
