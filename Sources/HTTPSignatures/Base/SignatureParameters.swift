public import Foundation
public import Networking

/// The covered components of a signature and its parameters, in order
/// ([RFC 9421 §2.3](https://www.rfc-editor.org/rfc/rfc9421#section-2.3)).
///
/// They are the member of `Signature-Input`, and the last line of the signature base. The order of
/// everything is kept, because the signature depends on it.
public struct SignatureParameters: Hashable, Sendable {
    /// The covered components.
    public var components: [ComponentIdentifier]
    /// All parameters.
    public var parameters: StructuredField.Parameters

    /// Creates signature parameters.
    ///
    /// - Parameters:
    ///   - components: The covered components.
    ///   - parameters: The parameters. The default is empty.
    public init(
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
}

extension SignatureParameters {
    /// Creates parameters from a member of `Signature-Input`.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `malformedSignature` or `tooLarge`.
    init(_ list: StructuredField.InnerList) throws(HTTPSignatureError) {
        guard list.items.count <= SignatureLimits.components else {
            throw HTTPSignatureError(.tooLarge, "a signature covers more than \(SignatureLimits.components) components")
        }
        var components: [ComponentIdentifier] = []
        for item in list.items { components.append(try ComponentIdentifier(item)) }
        self.init(components: components, parameters: list.parameters)
    }

    var innerList: StructuredField.InnerList {
        StructuredField.InnerList(components.map(\.item), parameters: parameters)
    }

    /// Returns the canonical form.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent` if a name or a value can't
    ///   be sent.
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

/// The limits on what a verifier accepts and a signer sends.
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
}
