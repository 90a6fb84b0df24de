import Networking

extension SignatureProfile {
    /// A component of a profile, with the condition under which it's covered.
    @nonexhaustive
    public enum Component: Hashable, Sendable {
        /// A component that every message must have.
        case required(ComponentIdentifier)
        /// The component that a signer covers, and others that a verifier accepts instead.
        case oneOf(ComponentIdentifier, or: [ComponentIdentifier])
        /// A component that every message with content must have, such as `content-digest`.
        case ifContent(ComponentIdentifier)
        /// A field that describes content, such as `content-type`: required if the message has both
        /// content and the field.
        case contentField(ComponentIdentifier)
        /// A field that is required if the message has it, such as `authorization`.
        case ifPresent(ComponentIdentifier)
        /// A component that a signer covers if the message has it, and that a verifier doesn't
        /// require.
        case optional(ComponentIdentifier)
    }
}

extension SignatureProfile {
    /// Returns the components that a signature of a message must cover, with their alternatives.
    func requirements(for message: HTTPMessage, hasContent: Bool) -> [[ComponentIdentifier]] {
        components.filter { component in
            if case .optional = component { return false }
            return component.applies(to: message, hasContent: hasContent)
        }
        .map(\.alternatives)
    }

    /// Returns the components that a signer covers, without repetitions.
    func coverage(of message: HTTPMessage, hasContent: Bool) -> [ComponentIdentifier] {
        var covered: [ComponentIdentifier] = []
        for component in components where component.applies(to: message, hasContent: hasContent) {
            if !covered.contains(component.identifier) { covered.append(component.identifier) }
        }
        return covered
    }

    /// A Boolean value that indicates whether the profile requires anything of every message.
    var requiresComponents: Bool {
        components.contains { component in
            switch component {
            case .required, .oneOf: true
            case .ifContent, .contentField, .ifPresent, .optional: false
            }
        }
    }
}

extension SignatureProfile.Component {
    /// The component that a signer covers.
    var identifier: ComponentIdentifier {
        switch self {
        case .required(let identifier), .oneOf(let identifier, or: _), .ifContent(let identifier),
            .contentField(let identifier), .ifPresent(let identifier), .optional(let identifier):
            identifier
        }
    }

    /// The components of which a verifier requires one.
    var alternatives: [ComponentIdentifier] {
        if case .oneOf(let first, let others) = self { [first] + others } else { [identifier] }
    }

    fileprivate func applies(to message: HTTPMessage, hasContent: Bool) -> Bool {
        switch self {
        case .required, .oneOf: true
        case .ifContent: hasContent
        case .contentField: hasContent && identifier.isPresent(in: message)
        case .ifPresent, .optional: identifier.isPresent(in: message)
        }
    }
}

extension ComponentIdentifier {
    /// Returns whether the message has the field; a derived component is present if it applies to
    /// the kind of message.
    func isPresent(in message: HTTPMessage) -> Bool {
        guard let source = has("req") ? message.request : message else { return false }
        if isDerived { return source.isRequest == (name != "@status") }
        return (has("tr") ? source.trailers : source.headers)[name] != nil
    }
}
