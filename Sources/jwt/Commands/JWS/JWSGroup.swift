/// The `jwt jws` command group: signatures for arbitrary payloads.
enum JWSGroup {
    /// The maximum size of a payload in bytes (sign the hash of a larger one instead).
    static let payloadLimit = 64 << 20

    static let definition = CommandDefinition(
        name: "jws",
        summary: "Sign and verify arbitrary payloads",
        discussion: ["A JWS (RFC 7515) can sign any bytes, such as a document, a webhook body or a separate file."],
        examples: [
            "Sign a file": "jwt jws sign --key key.pem --detached file.tar > file.tar.jws",
            "Verify it": "jwt jws verify --key public.pem --payload file.tar < file.tar.jws > /dev/null",
        ],
        subcommands: [JWSSignCommand.definition, JWSVerifyCommand.definition]
    )
}
