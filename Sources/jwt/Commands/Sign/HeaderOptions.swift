import TokenGeneration

/// The options for the header of a signature or an encrypted token.
struct HeaderOptions {
    private static let keyID = Option<NonEmptyText>(
        "kid",
        value: "ID",
        "The key ID; auto is the key's RFC 7638 thumbprint (default: the JWK's kid)"
    )
    private static let type = Option<NonEmptyText>(
        "typ",
        value: "TYPE",
        "The type, such as at+jwt (default: JWT for tokens)"
    )
    private static let parameter = Option<Assignment>(
        "header",
        isRepeatable: true,
        "A header parameter; VALUE is JSON if it parses as JSON, and text otherwise"
    )

    static let options = OptionDefinition.section("Header", [keyID, type, parameter])

    /// The header parameters, without `alg` and `kid`.
    let parameters: JSONObject
    /// The key ID that the user specifies: `auto`, or the ID.
    let statedKeyID: String?

    /// - Throws: ``UsageError`` if a parameter is set twice or by the wrong option.
    init(
        _ arguments: ParsedArguments,
        payloadAdvice: String = "use --unencoded-payload"
    ) throws(UsageError) {
        var members = MemberCollection(kind: "header parameter")
        let type = try arguments.value(of: Self.type)?.text
        for assignment in try arguments.values(of: Self.parameter) {
            switch assignment.name {
            case "alg": throw arguments.usageError("--header can't set alg; the key determines it")
            case "kid": throw arguments.usageError("--header can't set kid; use --kid")
            case "b64": throw arguments.usageError("--header can't set b64; \(payloadAdvice)")
            case "typ" where type != nil:
                throw arguments.usageError("typ is set by both --typ and --header; remove one")
            default: break
            }
            do throws(ValueError) {
                try members.add(assignment.name, assignment.value, from: Self.parameter.definition.spelling)
            } catch {
                throw arguments.usageError(error.message)
            }
        }
        var parameters = members.object
        if let type { parameters["typ"] = .string(type) }
        self.parameters = parameters
        statedKeyID = try arguments.value(of: Self.keyID)?.text
    }

    /// Returns the key ID for the header: the ID that the user specifies, or the key's own ID.
    func keyID(of key: SigningKey, own: String?) -> String? {
        statedKeyID == "auto" ? key.verificationKey.thumbprint : statedKeyID ?? own
    }
}
