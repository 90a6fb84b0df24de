import Foundation
import TokenGeneration

/// `jwt sign`: makes a token.
struct SignCommand {
    private static let keySection = "Key and header"
    private static let claimSection = "Claims"

    private static let key = Option<InputFile>(
        "key",
        short: "k",
        value: "FILE",
        section: keySection,
        """
        The private key: PEM, DER or JWK; without it a key is made for this token alone, and its public JWK is printed on \
        standard error
        """
    )
    private static let algorithm = Option<KeyAlgorithm>(
        "alg",
        value: "ALG",
        section: keySection,
        """
        The algorithm, for a key that does not state it, such as an RSA key in PEM; without --key, of the key that is made \
        (default: ES256)
        """
    )
    private static let keyID = Option<NonEmptyText>(
        "kid",
        value: "ID",
        section: keySection,
        "The key ID for the header; auto is the key's RFC 7638 thumbprint (default: the kid of a JWK)"
    )
    private static let header = Option<Assignment>(
        "header",
        value: "NAME=VALUE",
        isRepeatable: true,
        section: keySection,
        "A header parameter, such as typ=at+jwt; VALUE is read as for --claim"
    )
    private static let claim = Option<Assignment>(
        "claim",
        short: "c",
        value: "NAME=VALUE",
        isRepeatable: true,
        section: claimSection,
        "A claim; VALUE is JSON if it can be read as JSON (5, true, [\"a\"], \"5\"), and otherwise text"
    )
    private static let claims = Option<InputFile>(
        "claims",
        value: "FILE",
        section: claimSection,
        "Claims in a JSON object"
    )
    private static let issuer = Option<NonEmptyText>("iss", value: "TEXT", section: claimSection, "The issuer")
    private static let subject = Option<NonEmptyText>("sub", value: "TEXT", section: claimSection, "The subject")
    private static let audience = Option<NonEmptyText>(
        "aud",
        value: "TEXT",
        isRepeatable: true,
        section: claimSection,
        "The audience; several make an array"
    )
    private static let expiresIn = Option<TimeSpan>(
        "expires-in",
        value: "DURATION",
        section: claimSection,
        "The token expires this long from now: 90, 90s, 5m, 2h, 7d, 1w, 1h30m; sets exp, and iat unless it is given"
    )
    private static let noIssuedAt = Flag("no-iat", section: claimSection, "Do not let --expires-in set iat")

    static let definition = CommandDefinition(
        name: "sign",
        summary: "Make a signed token",
        discussion: [
            """
            Prints the token alone. Claims come from a file, from options, or both; a claim given twice is an error. A \
            token without an expiration time is refused by most receivers, so give --expires-in or the claim exp.
            """
        ],
        options: [
            key.definition, algorithm.definition, keyID.definition, header.definition, claim.definition,
            claims.definition, issuer.definition,
            subject.definition, audience.definition, expiresIn.definition, noIssuedAt.definition,
        ],
        examples: [
            .init(
                purpose: "A token that is good for five minutes",
                line: "jwt sign --key key.pem --iss me --sub alice --aud api --expires-in 5m"
            ),
            .init(
                purpose: "Claims from a file and from options",
                line: "jwt sign --key key.pem --claims claims.json --claim admin=true --claim 'roles=[\"a\",\"b\"]'"
            ),
            .init(
                purpose: "A private key that never touches the disk",
                line: "pass show key | jwt sign --key - --expires-in 1h"
            ),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The token is printed"),
            .init(code: 2, meaning: "The key or the claims cannot be used, or standard output is closed"),
            .init(code: 64, meaning: "The command line is wrong"),
        ],
        action: { try SignCommand($0).run(on: $1) }
    )

    private let arguments: ParsedArguments

    private init(_ arguments: ParsedArguments) {
        self.arguments = arguments
    }

    private func run(on console: Console) throws {
        // The command line is checked as a whole before a file is read or a key made.
        let header = try header()
        var claims = try claimsFromOptions()
        let keyInput = try arguments.value(of: Self.key)
        let algorithm = try arguments.value(of: Self.algorithm)?.algorithm
        if keyInput == nil, let algorithm, algorithm.isSymmetric {
            throw arguments.usageError(
                "--alg \(algorithm) needs --key: nobody could check a token of a secret that is gone"
            )
        }
        let claimsInput = try arguments.value(of: Self.claims)
        if keyInput?.isStandardInput == true, claimsInput?.isStandardInput == true {
            throw arguments.usageError("--key and --claims cannot both read standard input")
        }

        let service = try service(keyInput, algorithm, console)
        if let claimsInput {
            for member in try Self.claims(in: claimsInput) {
                try add(member.name, member.value, from: "the --claims file", to: &claims)
            }
        }
        try addTimes(to: &claims)
        let token = try Self.token(header, claims.object, service)
        if keyInput == nil {
            var jwk = service.verificationKey.jwk
            jwk.keyID = service.keyID
            console.note(jwk.members.serialized())
        }
        try console.print(token)
    }

    private func header() throws(UsageError) -> JSONObject {
        var header = MemberCollection(kind: "header parameter")
        for assignment in try arguments.values(of: Self.header) {
            switch assignment.name {
            case "alg": throw arguments.usageError("--header cannot set alg: the key decides it")
            case "kid": throw arguments.usageError("--header cannot set kid: use --kid")
            default: try add(assignment.name, assignment.value, from: Self.header.definition.spelling, to: &header)
            }
        }
        return header.object
    }

    private func claimsFromOptions() throws(UsageError) -> MemberCollection {
        var claims = MemberCollection(kind: "claim")
        for assignment in try arguments.values(of: Self.claim) {
            try add(assignment.name, assignment.value, from: Self.claim.definition.spelling, to: &claims)
        }
        for option in [Self.issuer, Self.subject] {
            guard let value = try arguments.value(of: option) else { continue }
            try add(option.definition.longName, .string(value.text), from: option.definition.spelling, to: &claims)
        }
        let audience = try arguments.values(of: Self.audience).map { JSONValue.string($0.text) }
        if let first = audience.first {
            try add("aud", audience.count == 1 ? first : .array(audience), from: "--aud", to: &claims)
        }
        return claims
    }

    private func addTimes(to claims: inout MemberCollection) throws(UsageError) {
        let setsIssuedAt = !arguments.contains(Self.noIssuedAt)
        guard let expiresIn = try arguments.value(of: Self.expiresIn) else {
            if setsIssuedAt { return }
            throw arguments.usageError("--no-iat changes what --expires-in does, which is not given")
        }
        let now = Int(Date().timeIntervalSince1970)  // reason: the clock of a running system is near the present
        let origin = Self.expiresIn.definition.spelling
        try add("exp", .number(JSONNumber(now + expiresIn.seconds)), from: origin, to: &claims)
        if setsIssuedAt, !claims.contains("iat") { try add("iat", .number(JSONNumber(now)), from: origin, to: &claims) }
    }

    private func service(
        _ input: InputFile?,
        _ algorithm: JWSAlgorithm?,
        _ console: Console
    ) throws -> KeySigningService {
        let stated = try arguments.value(of: Self.keyID)?.text
        let key: SigningKey
        var keyID: String?
        if let input {
            let file = try KeyFile(input)
            (key, keyID) = try file.signingKey(for: algorithm)
            if let warning = file.permissionWarning { console.warn(warning) }
        } else {
            key = try SigningKey.generate(algorithm ?? .es256)
            keyID = key.verificationKey.thumbprint
        }
        if let stated { keyID = stated == "auto" ? key.verificationKey.thumbprint : stated }
        return KeySigningService(key: key, keyID: keyID)
    }

    private func add(
        _ name: String,
        _ value: JSONValue,
        from origin: String,
        to collection: inout MemberCollection
    ) throws(UsageError) {
        do throws(ValueError) {
            try collection.add(name, value, from: origin)
        } catch {
            throw arguments.usageError(error.message)
        }
    }

    private static func token(
        _ header: JSONObject,
        _ claims: JSONObject,
        _ service: KeySigningService
    ) throws -> String {
        do {
            return try JWTGenerator(header: header, payload: claims, signingService: service).token
        } catch let error as TokenError {
            throw CommandFailure(.failed, error.message, cause: error)
        }
    }

    private static func claims(in file: InputFile) throws(CommandFailure) -> JSONObject {
        guard let text = String(validating: try file.read().bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(file.name): claims must be a JSON object in UTF-8")
        }
        do throws(TokenError) {
            return try JSONObject(parsing: text)
        } catch {
            throw CommandFailure(.failed, "\(file.name): claims must be a JSON object: \(error.message)", cause: error)
        }
    }
}
