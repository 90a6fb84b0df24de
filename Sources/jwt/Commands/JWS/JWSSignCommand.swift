import Foundation
import TokenGeneration

/// The `jwt jws sign` command: signs an arbitrary payload.
struct JWSSignCommand {
    static let definition = CommandDefinition(
        name: "sign",
        summary: "Sign an arbitrary payload",
        discussion: [
            "Prints only the JWS. The payload is signed byte for byte, including a line break at its end."
        ],
        options: [KeySource.signingOptions, HeaderOptions.options, SignatureForm.options],
        operands: [
            OperandDefinition(
                name: "PAYLOAD",
                kind: .file,
                summary: "The payload file; reads standard input if it is - or omitted"
            )
        ],
        examples: [
            "Sign text": "printf 'It is true.' | jwt jws sign --key key.pem --header cty=text/plain",
            "Create a detached signature for a file": "jwt jws sign --key key.pem --detached file > file.jws",
            "Create a JWS in JSON": "jwt jws sign --key key.pem --format json document.json",
        ],
        exitCodes: [
            0: "The JWS was printed",
            2: "The key or the payload is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let source = try KeySource.required(arguments)
        let algorithm = try arguments.value(of: KeySource.algorithm)
        let header = try HeaderOptions(arguments)
        let form = try SignatureForm(arguments)
        let payload: InputFile = try arguments.operand(named: "PAYLOAD") ?? .standardInput
        if source.takesStandardInput, payload.isStandardInput {
            throw arguments.usageError("the key and the payload can't both come from standard input")
        }
        let (key, keyID) = try source.signingKey(for: algorithm, console)
        let service = key.identified(by: header.keyID(of: key, own: keyID))
        let octets = try payload.read(limit: JWSGroup.payloadLimit).bytes
        let signed = try form.sign(Data(octets), header: header.parameters, with: service)
        try SignatureForm.print(signed, as: "jws", on: console)
    }
}
