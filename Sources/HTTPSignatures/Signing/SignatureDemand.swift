import Networking

/// A signature that a peer asks for in `Accept-Signature`
/// ([RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5)).
struct SignatureDemand: Sendable {
    let label: String
    let parameters: SignatureParameters

    /// The maximum number of signatures that are made on demand.
    private static let maximumCount = 2

    /// Returns the demands in the header fields of a peer that a signer can and may meet.
    ///
    /// The peer must not choose what the signer signs. Therefore it may ask for any selection of
    /// the profile's components that includes the required ones, for a nonce, and for the
    /// parameters that the signer has anyway.
    ///
    /// - Returns: The demands, in order; empty if none is acceptable or the field is malformed.
    static func acceptable(
        in headers: HTTPHeaders,
        for signer: MessageSigner,
        _ message: HTTPMessage,
        hasContent: Bool
    ) -> [SignatureDemand] {
        let lines = headers.values(for: "Accept-Signature")
        guard !lines.isEmpty, lines.reduce(0, { $0 + $1.utf8.count }) <= SignatureLimits.fieldSize,
            let field = try? StructuredField.Dictionary(parsingUniqueKeys: lines)
        else { return [] }
        let demands = field.compactMap { member -> SignatureDemand? in
            guard case .innerList(let list) = member.value, let parameters = try? SignatureParameters(list) else {
                return nil
            }
            return SignatureDemand(label: member.key, parameters: parameters)
        }
        return Array(
            demands.filter { $0.isAcceptable(to: signer, message, hasContent: hasContent) }.prefix(maximumCount)
        )
    }

    private func isAcceptable(to signer: MessageSigner, _ message: HTTPMessage, hasContent: Bool) -> Bool {
        let profile = signer.profile
        var allowed = Set(profile.components.flatMap(\.alternatives))
        if let agent = profile.signatureAgent { allowed.insert(agent.component(label: label)) }
        let wanted = parameters.components
        guard wanted.allSatisfy(allowed.contains), Set(wanted).count == wanted.count,
            wanted.allSatisfy({ $0.isAvailable(in: message, hasContent: hasContent) }),
            profile.requirements(for: message, hasContent: hasContent).allSatisfy({
                $0.contains(where: wanted.contains)
            })
        else { return false }
        return parameters.parameters.allSatisfy { parameter in
            switch (parameter.key, parameter.value) {
            case ("created", .boolean(true)), ("expires", .boolean(true)): true
            case ("nonce", .string(let nonce)): (1...SignatureLimits.parameterLength).contains(nonce.utf8.count)
            case ("keyid", .string(let keyID)): signer.keyID.map { $0.utf8.elementsEqual(keyID.utf8) } ?? false
            case ("alg", .string(let name)):
                signer.key.httpSignatureName.map { $0.utf8.elementsEqual(name.utf8) } ?? false
            case ("tag", .string(let tag)): profile.tag.map { $0.utf8.elementsEqual(tag.utf8) } ?? false
            default: false
            }
        }
    }

    /// Returns whether the signature must cover a header field of the message itself.
    func covers(_ name: String) -> Bool {
        parameters.components.contains { $0.name == name && !$0.has("req") && !$0.has("tr") }
    }

    /// Returns whether the demand has a parameter.
    func asks(for key: String) -> Bool { parameters.parameters[key] != nil }
}

extension ComponentIdentifier {
    /// Returns whether a message has the component when it's signed.
    fileprivate func isAvailable(in message: HTTPMessage, hasContent: Bool) -> Bool {
        guard !coversContent, name != "signature-agent" else { return true }
        if name == "content-length", hasContent { return true }
        return isPresent(in: message)
    }
}
