import Networking

extension ComponentIdentifier {
    /// The derived components.
    private static let derivedNames: Set = [
        "@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query", "@query-param",
        "@status",
    ]

    /// A Boolean value that indicates whether the component is derived rather than a field.
    package var isDerived: Bool { name.utf8.first == UInt8(ascii: "@") }

    /// Checks the name and the parameters, without a message.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent`.
    package func validate() throws(HTTPSignatureError) {
        guard !name.utf8.elementsEqual("@signature-params".utf8) else {
            throw invalid("is always the last line of the signature base and can't be covered")
        }
        if isDerived {
            guard Self.derivedNames.contains(name) else { throw invalid("isn't a known derived component") }
        } else {
            guard HTTPSyntax.isToken(name) else { throw invalid("isn't the name of a field") }
            guard !name.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else {
                throw invalid("must be in lowercase")
            }
        }
        for (key, value) in parameters { try validate(key, value) }
        guard name != "@query-param" || parameters["name"] != nil else { throw invalid("needs the parameter “name”") }
        guard !has("bs") || !has("sf") && parameters["key"] == nil else {
            throw invalid("combines “bs” with “sf” or “key”")
        }
    }

    private func validate(_ key: String, _ value: StructuredField.BareItem) throws(HTTPSignatureError) {
        let isKnown =
            switch key {
            case "req": true
            case "sf", "bs", "tr", "key": !isDerived
            case "name": name == "@query-param"
            default: false
            }
        guard isKnown else { throw invalid("has a parameter that is unknown or doesn't apply to it") }
        switch (key, value) {
        case ("key", .string), ("name", .string), ("req", .boolean(true)), ("sf", .boolean(true)),
            ("bs", .boolean(true)), ("tr", .boolean(true)):
            break
        default: throw invalid("has a parameter with the wrong type of value")
        }
    }

    /// Returns the error of an identifier that can't be used.
    func invalid(_ reason: String) -> HTTPSignatureError {
        HTTPSignatureError(.invalidComponent, "the component \(shown) \(reason)")
    }

    /// The identifier for messages, at most 96 characters long.
    var shown: String {
        let text = description
        return text.utf8.count <= 96 ? text : String(text.prefix(95)) + "…"
    }
}
