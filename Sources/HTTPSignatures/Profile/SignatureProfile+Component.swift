import Networking

extension SignatureProfile {
    /// A component of a profile, with the condition under which it's covered.
    public struct Component: Hashable, Sendable {
        enum Condition: Hashable {
            case always, content, contentField, present, optional
        }

        /// The identifiers; a signer covers the first, and a verifier requires one.
        let alternatives: [ComponentIdentifier]
        let condition: Condition

        /// A component that every message must have.
        ///
        /// - Parameter identifier: The component.
        /// - Returns: The requirement.
        public static func required(_ identifier: ComponentIdentifier) -> Self {
            Self(alternatives: [identifier], condition: .always)
        }

        /// Several components, one of which is required.
        ///
        /// - Parameters:
        ///   - identifier: The component that a signer covers.
        ///   - others: The others that a verifier accepts instead.
        /// - Returns: The requirement.
        public static func oneOf(_ identifier: ComponentIdentifier, _ others: ComponentIdentifier...) -> Self {
            Self(alternatives: [identifier] + others, condition: .always)
        }

        /// A component that every message with content must have, such as `content-digest`.
        ///
        /// - Parameter identifier: The component.
        /// - Returns: The requirement.
        public static func ifContent(_ identifier: ComponentIdentifier) -> Self {
            Self(alternatives: [identifier], condition: .content)
        }

        /// A field that describes content, such as `content-type`: required if the message has both
        /// content and the field.
        ///
        /// - Parameter identifier: The component.
        /// - Returns: The requirement.
        public static func contentField(_ identifier: ComponentIdentifier) -> Self {
            Self(alternatives: [identifier], condition: .contentField)
        }

        /// A field that is required if the message has it, such as `authorization`.
        ///
        /// - Parameter identifier: The component.
        /// - Returns: The requirement.
        public static func ifPresent(_ identifier: ComponentIdentifier) -> Self {
            Self(alternatives: [identifier], condition: .present)
        }

        /// A component that a signer covers if the message has it, and that a verifier doesn't
        /// require.
        ///
        /// - Parameter identifier: The component.
        /// - Returns: The component.
        public static func optional(_ identifier: ComponentIdentifier) -> Self {
            Self(alternatives: [identifier], condition: .optional)
        }
    }
}

extension SignatureProfile {
    /// Returns the components that a signature of a message must cover, with their alternatives.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - hasContent: Whether the message has content.
    /// - Returns: The components, in order.
    func requirements(for message: HTTPMessage, hasContent: Bool) -> [[ComponentIdentifier]] {
        components.filter { $0.condition != .optional && $0.applies(to: message, hasContent: hasContent) }
            .map(\.alternatives)
    }

    /// Returns the components that a signer covers, without repetitions.
    func coverage(of message: HTTPMessage, hasContent: Bool) -> [ComponentIdentifier] {
        var covered: [ComponentIdentifier] = []
        for component in components where component.applies(to: message, hasContent: hasContent) {
            guard let first = component.alternatives.first, !covered.contains(first) else { continue }
            covered.append(first)
        }
        return covered
    }

    /// Returns whether a signer covers the digest of the content.
    func digests(_ message: HTTPMessage, hasContent: Bool) -> Bool {
        components.contains { component in
            component.alternatives.first?.coversContent ?? false
                && component.applies(to: message, hasContent: hasContent)
        }
    }

    /// A Boolean value that indicates whether the profile requires anything of every message.
    var requiresComponents: Bool { components.contains { $0.condition == .always } }
}

extension SignatureProfile.Component {
    fileprivate func applies(to message: HTTPMessage, hasContent: Bool) -> Bool {
        switch condition {
        case .always: true
        case .content: hasContent
        case .contentField: hasContent && isPresent(in: message)
        case .present, .optional: isPresent(in: message)
        }
    }

    /// Returns whether the message has the field; a derived component is present if it applies to
    /// the kind of message.
    func isPresent(in message: HTTPMessage) -> Bool {
        guard let identifier = alternatives.first else { return false }
        guard let source = identifier.has("req") ? message.request : message else { return false }
        if identifier.isDerived { return source.isRequest == (identifier.name != "@status") }
        let fields = identifier.has("tr") ? source.trailers : source.headers
        return fields[identifier.name] != nil
    }
}
