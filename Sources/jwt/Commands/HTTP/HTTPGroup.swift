/// The `jwt http` command group: signed HTTP messages.
enum HTTPGroup {
    static let definition = CommandDefinition(
        name: "http",
        summary: "Verify signed HTTP messages",
        discussion: [
            """
            HTTP message signatures (RFC 9421) prove who sent a request or response and that its signed parts are \
            unchanged. jwt request --http-signature signs requests.
            """
        ],
        examples: [
            "Verify a recorded request": "jwt http verify -k public.pem --signature-profile standard request.http"
        ],
        subcommands: [HTTPVerifyCommand.definition]
    )
}
