/// The `jwt sd` command group: tokens with selective disclosure (SD-JWT).
enum SDGroup {
    static let definition = CommandDefinition(
        name: "sd",
        summary: "Issue, present and verify SD-JWTs",
        discussion: [
            """
            An SD-JWT (RFC 9901) is a signed token whose holder shows each verifier only some of the claims. The issuer \
            signs digests of the claims that can be hidden, and gives the holder the claims as disclosures. The holder \
            presents the token with a selection of them, and can prove with a key binding that it's the holder.
            """
        ],
        examples: [
            "Issue an SD-JWT for a holder's key": """
            jwt sd issue -k issuer.pem --holder-key holder.pub --claims claims.json --disclosable name > sd-jwt
            """,
            "Present the name to a verifier": """
            jwt sd present --verify-key issuer.pub --disclose name -k holder.pem --nonce "$N" --kb-aud shop < sd-jwt
            """,
            "Verify the presentation": "jwt sd verify -k issuer.pub --nonce \"$N\" --kb-aud shop < presentation",
            "Print the contents without verifying them": "jwt sd show < sd-jwt",
        ],
        subcommands: [
            SDIssueCommand.definition, SDPresentCommand.definition, SDVerifyCommand.definition,
            SDShowCommand.definition,
        ]
    )
}
