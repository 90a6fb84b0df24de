/// `jwt jws`: signatures over any payload.
enum JWSGroup {
    /// More than this is signed by its hash, elsewhere.
    static let payloadLimit = 64 << 20

    static let definition = CommandDefinition(
        name: "jws",
        summary: "Sign and verify payloads that are no claims",
        discussion: ["A JWS (RFC 7515) signs any octets: a document, a webhook's body, a file that stays where it is."],
        examples: [
            .init(purpose: "Sign a file", line: "jwt jws sign --key key.pem --detached file.tar > file.tar.jws"),
            .init(
                purpose: "Check it",
                line: "jwt jws verify --key public.pem --payload file.tar < file.tar.jws > /dev/null"
            ),
        ],
        subcommands: [JWSSignCommand.definition, JWSVerifyCommand.definition]
    )
}
