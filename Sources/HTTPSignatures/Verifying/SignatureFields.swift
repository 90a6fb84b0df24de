import Foundation
import Networking

/// The signatures of a message, from its `Signature-Input` and `Signature` fields
/// ([RFC 9421 §4](https://www.rfc-editor.org/rfc/rfc9421#section-4)).
struct SignatureFields {
    private let inputs: StructuredField.Dictionary
    private let values: StructuredField.Dictionary

    /// Parses the fields.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `noSignature`, `malformedSignature` or
    ///   `tooLarge`.
    init(_ headers: HTTPHeaders) throws(HTTPSignatureError) {
        let inputs = headers.values(for: "Signature-Input")
        let values = headers.values(for: "Signature")
        guard !inputs.isEmpty || !values.isEmpty else {
            throw HTTPSignatureError(.noSignature, "the message has no signature")
        }
        guard !inputs.isEmpty, !values.isEmpty else {
            throw HTTPSignatureError(
                .malformedSignature,
                inputs.isEmpty
                    ? "the message has Signature but no Signature-Input; is it signed by the expired Cavage draft?"
                    : "the message has Signature-Input but no Signature"
            )
        }
        self.inputs = try Self.dictionary(inputs, "Signature-Input")
        self.values = try Self.dictionary(values, "Signature")
        guard self.inputs.count <= SignatureLimits.signatures, self.values.count <= SignatureLimits.signatures else {
            throw HTTPSignatureError(
                .tooLarge,
                "the message has more than \(SignatureLimits.signatures) signatures"
            )
        }
    }

    /// The number of signatures.
    var count: Int { max(inputs.count, values.count) }

    /// The labels of both fields, in order.
    var allLabels: [String] { inputs.keys + values.keys.filter { inputs[$0] == nil } }

    /// Returns the labels of the signatures with a tag; all labels without one.
    func labels(withTag tag: String?) -> [String] {
        guard let tag else { return inputs.keys }
        return inputs.keys.filter { label in
            guard case .innerList(let list) = inputs[label], case .string(let found) = list.parameters["tag"] else {
                return false
            }
            return found.utf8.elementsEqual(tag.utf8)
        }
    }

    /// Returns a signature.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedSignature` or `tooLarge`.
    func signature(_ label: String) throws(HTTPSignatureError) -> (parameters: SignatureParameters, value: [UInt8]) {
        guard case .innerList(let list) = inputs[label] else {
            throw HTTPSignatureError(.malformedSignature, "a member of Signature-Input isn't an inner list")
        }
        let parameters = try SignatureParameters(list)
        guard let member = values[label] else {
            throw HTTPSignatureError(.malformedSignature, "Signature has no member for a label of Signature-Input")
        }
        guard case .item(let item) = member, case .byteSequence(let bytes) = item.value else {
            throw HTTPSignatureError(.malformedSignature, "a member of Signature isn't a byte sequence")
        }
        try parameters.checkTypes()
        return (parameters, Array(bytes))
    }

    private static func dictionary(
        _ lines: [String],
        _ name: String
    ) throws(HTTPSignatureError) -> StructuredField.Dictionary {
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= SignatureLimits.fieldSize else {
            throw HTTPSignatureError(.tooLarge, "\(name) exceeds \(SignatureLimits.fieldSize) bytes")
        }
        do { return try StructuredField.Dictionary(parsingUniqueKeys: lines) } catch {
            throw HTTPSignatureError(
                .malformedSignature,
                "\(name) isn't a dictionary with different labels",
                cause: error
            )
        }
    }
}

extension SignatureParameters {
    /// Checks the types and sizes of the known parameters.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedSignature` or `tooLarge`.
    fileprivate func checkTypes() throws(HTTPSignatureError) {
        for (key, value) in parameters {
            switch (key, value) {
            case ("created", .integer), ("expires", .integer): break
            case ("nonce", .string(let text)), ("alg", .string(let text)), ("keyid", .string(let text)),
                ("tag", .string(let text)):
                guard text.utf8.count <= SignatureLimits.parameterLength else {
                    throw HTTPSignatureError(
                        .tooLarge,
                        "the parameter “\(key)” is longer than \(SignatureLimits.parameterLength) bytes"
                    )
                }
            case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _):
                throw HTTPSignatureError(.malformedSignature, "the parameter “\(key)” has the wrong type")
            default: break
            }
        }
        if let created, let expires, expires < created {
            throw HTTPSignatureError(.malformedSignature, "the signature expires before it was created")
        }
    }
}
