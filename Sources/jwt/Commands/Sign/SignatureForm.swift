import Foundation
import TokenGeneration

/// The form of a signature: its serialization, and the placement and encoding of its payload.
struct SignatureForm {
    /// A JWS serialization (RFC 7515).
    enum Serialization: String, CaseIterable, NamedValue {
        case compact
        case json
        case general
    }

    static let section = "Form"

    private static let serialization = Option<Serialization>(
        "format",
        "A single line with three parts (default), or JSON: flattened, or general with a list of signatures"
    )
    private static let detached = Flag(
        "detached",
        "Omit the payload, which the verifier must then provide (RFC 7515, appendix F)"
    )
    private static let unencoded = Flag("unencoded-payload", "Sign the payload without base64url encoding (RFC 7797)")

    static let options = OptionDefinition.section("Form", [serialization, detached, unencoded])

    private let serialization: Serialization
    private let placement: JWSPayloadPlacement
    private let encoding: JWSPayloadEncoding

    init(_ arguments: ParsedArguments) throws(UsageError) {
        serialization = try arguments.value(of: Self.serialization) ?? .compact
        placement = arguments.contains(Self.detached) ? .detached : .attached
        encoding = arguments.contains(Self.unencoded) ? .unencoded : .base64url
    }

    /// A Boolean value that indicates whether this is the form of a JWT ([RFC 7519
    /// §3](https://www.rfc-editor.org/rfc/rfc7519#section-3)).
    var isToken: Bool { serialization == .compact && placement == .attached && encoding == .base64url }

    var isDetached: Bool { placement == .detached }

    var isUnencoded: Bool { encoding == .unencoded }

    /// Signs a payload to a string for the compact serialization, and to an object otherwise.
    func sign(_ payload: Data, header: JSONObject, with service: SigningKey) throws -> JSONValue {
        let generator = JWSGenerator(
            payload: payload,
            payloadEncoding: encoding,
            header: header,
            signingService: service
        )
        return switch serialization {
        case .compact: .string(try generator.compact(placement))
        case .json: .object(try generator.flattenedJSON(placement))
        case .general: .object(try generator.generalJSON(placement))
        }
    }

    /// Prints a token in the compact or a JSON serialization.
    static func print(_ token: JSONValue, as member: String, on console: Console) throws(CommandFailure) {
        guard !console.writesJSON else { return try console.print([member: token]) }
        try console.print(token.string ?? token.object?.serialized() ?? "")
    }
}
