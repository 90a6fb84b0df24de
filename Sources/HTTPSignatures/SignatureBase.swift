public import Foundation
package import Networking
public import TokenGeneration

/// The text that a signature is made over
/// ([RFC 9421 §2.5](https://www.rfc-editor.org/rfc/rfc9421#section-2.5)).
///
/// It's a pure function of the message and the parameters. If a signature doesn't verify, compare
/// the bases of the signer and the verifier. The ``description`` hides credentials:
///
/// ```swift
/// let base = try SignatureBase(of: message, parameters: parameters)
/// logger.debug("\(base)")
/// ```
public struct SignatureBase: Sendable, Redacted {
    /// A covered component with its value.
    public struct Line: Hashable, Sendable {
        /// The component's identifier.
        public let component: ComponentIdentifier
        /// The value, as in the signature base.
        public let value: String
    }

    /// The covered components with their values, in order.
    public let lines: [Line]
    /// The parameters, which are the last line.
    public let parameters: SignatureParameters
    /// The whole text, which may contain credentials.
    ///
    /// Line feeds separate its lines, and the last line doesn't end with one.
    public var text: String { String(decoding: octets, as: UTF8.self) }
    let octets: [UInt8]
    let serializedParameters: String

    /// Creates the base of a message's signature.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - parameters: The covered components and the parameters.
    ///   - fieldTypes: The types of structured fields that aren't registered, by lowercase name.
    ///     The default is empty.
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent`, `missingComponent`,
    ///   `malformedComponent` or `tooLarge`.
    public init(
        of message: HTTPMessage,
        parameters: SignatureParameters,
        fieldTypes: [String: StructuredFieldType] = [:]
    ) throws(HTTPSignatureError) {
        try SignatureLimits.check(componentCount: parameters.components.count)
        for (index, component) in parameters.components.enumerated() {
            try component.validate()
            // A set would take longer, even with the maximum number of components.
            guard !parameters.components[..<index].contains(component) else {
                throw component.invalid("is covered twice")
            }
        }
        var reader = ComponentReader(message: message, fieldTypes: fieldTypes)
        var lines: [Line] = []
        lines.reserveCapacity(parameters.components.count)
        var octets: [UInt8] = []
        octets.reserveCapacity(512)
        for component in parameters.components {
            let line = Line(component: component, value: try reader.value(of: component))
            lines.append(line)
            component.append(to: &octets)
            octets.append(contentsOf: ": ".utf8)
            octets.append(contentsOf: line.value.utf8)
            octets.append(UInt8(ascii: "\n"))
            guard octets.count <= SignatureLimits.baseSize else {
                throw HTTPSignatureError(.tooLarge, "the signature base exceeds \(SignatureLimits.baseSize) bytes")
            }
        }
        serializedParameters = try parameters.serialized()
        octets.append(contentsOf: "\"@signature-params\": ".utf8)
        octets.append(contentsOf: serializedParameters.utf8)
        self.lines = lines
        self.parameters = parameters
        self.octets = octets
    }

    /// The text for a log, in which the values of credentials are replaced.
    ///
    /// These are the values that `Redaction.standard` replaces, such as those of `Authorization`,
    /// `Cookie` and `DPoP`.
    public var description: String {
        (lines.map(\.description) + ["\"@signature-params\": \(serializedParameters)"])
            .joined(separator: "\n")
    }
}

extension SignatureBase.Line: Redacted {
    /// The line for a log, in which the value of a credential is replaced.
    public var description: String { "\(component): \(shownValue)" }

    /// The value for a log, in which the value of a credential is replaced.
    package var shownValue: String {
        switch component.name {
        case "@target-uri", "@request-target", "@query": return Redaction.standard.redacted(target: value)
        case "@query-param":
            let prefix = "?\(component.text(of: "name") ?? "")="
            return String(Redaction.standard.redacted(target: prefix + value).dropFirst(prefix.count))
        case _ where component.isDerived: return value
        default: break
        }
        let field = HTTPHeaders.Field(name: component.name, value: component.has("bs") ? plainText : value)
        let redacted = Redaction.standard.redacted(HTTPHeaders([field]))[0].value
        return component.has("bs") && redacted == field.value ? value : redacted
    }

    /// The text of the byte sequences.
    private var plainText: String {
        guard let list = try? StructuredField.List(parsing: [value]) else { return value }
        return list.members.map { member in
            guard case .item(let item) = member, case .byteSequence(let bytes) = item.value else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }.joined(separator: ", ")
    }
}

/// The covered components of a signature and its parameters, in order
/// ([RFC 9421 §2.3](https://www.rfc-editor.org/rfc/rfc9421#section-2.3)).
///
/// They are the member of `Signature-Input`, and the last line of the signature base. The order of
/// everything is kept, because the signature depends on it.
public struct SignatureParameters: Hashable, Sendable {
    /// The covered components.
    public var components: [ComponentIdentifier]
    package var parameters: StructuredField.Parameters

    package init(
        components: [ComponentIdentifier],
        parameters: StructuredField.Parameters = StructuredField.Parameters()
    ) {
        self.components = components
        self.parameters = parameters
    }

    /// The time at which the signature was created, `created`.
    public var created: Date? { date("created") }
    /// The time at which the signature expires, `expires`.
    public var expires: Date? { date("expires") }
    /// The nonce, `nonce`.
    public var nonce: String? { text("nonce") }
    /// The algorithm's registered name, `alg`.
    public var algorithm: String? { text("alg") }
    /// The key's ID, `keyid`.
    public var keyID: String? { text("keyid") }
    /// The application's tag, `tag`.
    public var tag: String? { text("tag") }

    private func date(_ key: String) -> Date? {
        guard case .integer(let seconds) = parameters[key] else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    private func text(_ key: String) -> String? {
        if case .string(let text) = parameters[key] { text } else { nil }
    }

    /// Throws `malformedSignature` or `tooLarge`.
    init(_ list: StructuredField.InnerList) throws(HTTPSignatureError) {
        try SignatureLimits.check(componentCount: list.items.count)
        var components: [ComponentIdentifier] = []
        for item in list.items { components.append(try ComponentIdentifier(item)) }
        self.init(components: components, parameters: list.parameters)
    }

    var innerList: StructuredField.InnerList {
        StructuredField.InnerList(components.map(\.item), parameters: parameters)
    }

    /// Throws `invalidComponent` if a name or a value can't be sent.
    func serialized() throws(HTTPSignatureError) -> String {
        do { return try innerList.serialized() } catch {
            throw HTTPSignatureError(
                .invalidComponent,
                "the signature parameters can't be sent: \(error.message)",
                cause: error
            )
        }
    }
}

enum SignatureLimits {
    /// The maximum size of all `Signature` or all `Signature-Input` fields, in bytes.
    static let fieldSize = 16 << 10
    /// The maximum number of signatures in a message.
    static let signatures = 8
    /// The maximum number of components that a signature covers.
    static let components = 64
    /// The maximum length of `keyid`, `nonce`, `alg` and `tag`, in bytes.
    static let parameterLength = 256
    /// The maximum size of a signature base, in bytes.
    static let baseSize = 1 << 20

    static func check(componentCount count: Int) throws(HTTPSignatureError) {
        guard count <= components else {
            throw HTTPSignatureError(.tooLarge, "a signature covers at most \(components) components")
        }
    }
}
