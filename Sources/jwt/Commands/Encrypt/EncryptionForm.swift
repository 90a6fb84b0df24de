import Foundation
import TokenGeneration

/// The form of an encrypted token: its serialization, and the data that it authenticates.
struct EncryptionForm {
    private static let serialization = Option<SignatureForm.Serialization>(
        "format",
        """
        A single line with five parts (default), or JSON: flattened (default with --aad), or general with a list of \
        recipients (default with several)
        """
    )
    private static let additionalData = Option<BodySource>(
        "aad",
        "Data that the token authenticates and carries unencrypted; requires JSON"
    )

    static let options = OptionDefinition.section("Form", [serialization, additionalData])

    let serialization: SignatureForm.Serialization
    private let additionalData: BodySource?

    /// - Throws: ``UsageError`` if the serialization doesn't support the other options.
    init(_ arguments: ParsedArguments, recipientCount: Int) throws(UsageError) {
        additionalData = try arguments.value(of: Self.additionalData)
        let stated = try arguments.value(of: Self.serialization)
        let isGeneral = recipientCount > 1
        serialization = stated ?? (isGeneral ? .general : additionalData == nil ? .compact : .json)
        if serialization != .general, isGeneral {
            throw arguments.usageError("several recipients need --format general")
        }
        if serialization == .compact, additionalData != nil {
            throw arguments.usageError("--aad needs --format json or general")
        }
    }

    /// A Boolean value that indicates whether the additional data is read from standard input.
    var takesStandardInput: Bool { additionalData?.isStandardInput ?? false }

    /// Encrypts content to a string for the compact serialization, and to an object otherwise.
    func encrypt(
        _ content: Data,
        _ encryption: JWEEncryption?,
        header: JSONObject,
        for recipients: [JWERecipient]
    ) throws -> JSONValue {
        let generator = JWEGenerator(
            plaintext: content,
            encryption: encryption,
            header: header,
            additionalData: try additionalData.map { source throws(CommandFailure) in
                Data(try source.octets(limit: InputFile.sizeLimit))
            },
            recipients: recipients
        )
        return switch serialization {
        case .compact: .string(try generator.compact())
        case .json: .object(try generator.flattenedJSON())
        case .general: .object(try generator.generalJSON())
        }
    }
}
