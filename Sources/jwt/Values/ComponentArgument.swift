import HTTPSignatures
import Networking

/// A component of an HTTP message, such as `@method`, `content-digest`, `@method;req`,
/// `@query-param;name=page` or `"signature-input";key="sig1"`.
struct ComponentArgument: ArgumentValue, Equatable {
    static let placeholder = "COMPONENT"

    private static let expectation = ValueError(
        message: "must be a component such as @method, content-digest, @method;req or @query-param;name=page"
    )

    let component: ComponentIdentifier

    init(argument: String) throws(ValueError) {
        var text = argument
        if text.utf8.first != UInt8(ascii: "\"") {
            let name = text.prefix { $0 != ";" }
            guard !name.isEmpty, !name.contains("\""), !name.contains("\\") else { throw Self.expectation }
            text = "\"\(name)\"\(text[name.endIndex...])"
        }
        guard let item = try? StructuredField.Item(parsing: [text]), case .string(let name) = item.value else {
            throw Self.expectation
        }
        var parameters = StructuredField.Parameters()
        for (key, value) in item.parameters {
            // The shell removes quotation marks, so accept name=page for name="page".
            if case .token(let token) = value { parameters[key] = .string(token) } else { parameters[key] = value }
        }
        // Names of fields are case-insensitive, and lowercase in signatures.
        component = ComponentIdentifier(name.hasPrefix("@") ? name : name.lowercased(), parameters: parameters)
        do throws(HTTPSignatureError) {
            try component.validate()
        } catch {
            throw Self.expectation
        }
    }
}
