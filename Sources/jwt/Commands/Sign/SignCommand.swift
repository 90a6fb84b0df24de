import Foundation
import TokenGeneration

struct SignCommand {
    private static let key = KeySource.key()
    private static let algorithm = KeySource.algorithm()
    private static let payloadOut = Option<OutputFile>("payload-out")

    static let definition = CommandDefinition(
        name: "sign",
        summary: "Create a signed token",
        discussion: [
            """
            Prints only the token. Claims come from a file, from options, or both. A claim that is set twice is an \
            error, and so is a registered claim that verifiers reject, such as exp=tomorrow. Most receivers reject a \
            token without an expiration time, so pass --expires-in or set the claim exp.
            """,
            """
            With --batch, each line of claims produces one line of JSON, in the same order: {"token":"…"}, or \
            {"error":{"code":"…","message":"…"}} for a line that can't be signed. Errors don't end the batch.
            """,
        ],
        options: [
            OptionDefinition.table([
                key: """
                The private key: PEM, DER or JWK; without a key, the command generates one for this token and prints its \
                public JWK on standard error
                """,
                algorithm: """
                The algorithm, for a key that doesn't state it, such as an RSA key in PEM; without --key, the algorithm of \
                the generated key (default: ES256); keys on Edwards curves sign as EdDSA by default
                """,
                KeySource.options: nil,
            ]).section(KeySource.section), HeaderOptions.options,
            ClaimOptions.options,
            SignatureForm.options,
            OptionDefinition.table([
                payloadOut: "The output file for the signed claims, which a verifier needs with --detached"
            ]).section(SignatureForm.section), BatchRun.flag,
        ],
        examples: [
            "Create a token that expires in five minutes":
                "jwt sign --key key.pem --iss me --sub alice --aud api --expires-in 5m",
            "Combine claims from a file and from options":
                "jwt sign --key key.pem --claims claims.json --claim admin=true --claim 'roles=[\"a\",\"b\"]'",
            "Pipe in a private key without writing it to disk": "pass show key | jwt sign --key - --expires-in 1h",
            "Use a shared secret from the environment":
                "jwt sign --key-env API_SECRET --secret text --alg HS256 --sub alice --expires-in 1h",
            "Sign a million tokens":
                "jwt sign --key key.pem --batch --expires-in 1h < claims.jsonl | jq -r .token > tokens",
        ],
        exitCodes: [
            0: "The token was printed",
            1: "With --batch: at least one line couldn't be signed",
            2: "The key or the claims are unusable, or standard output is closed",
        ],
        action: { try SignCommand($0).run(on: $1) }
    )

    private let arguments: ParsedArguments
    private let keySource: KeySource?
    private let header: HeaderOptions
    private let claims: ClaimOptions
    private let form: SignatureForm

    private var algorithm: JWSAlgorithm? { arguments.value(of: Self.algorithm) }
    private var claimsFile: InputFile? { arguments.value(of: ClaimOptions.claims) }
    private var payloadOut: OutputFile? { arguments.value(of: Self.payloadOut) }
    private var isBatch: Bool { arguments.contains(BatchRun.flag) }

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        // Validate the complete command line before reading a file or generating a key.
        self.arguments = arguments
        header = try HeaderOptions(arguments)
        claims = try ClaimOptions(arguments)
        form = SignatureForm(arguments)
        keySource = try KeySource(arguments, key: Self.key)
        let readsClaims = claimsFile?.isStandardInput ?? isBatch
        try arguments.reject([
            "--alg \(algorithm.map { "\($0)" } ?? "") needs --key: the token couldn't be verified without the secret":
                keySource == nil && algorithm?.isSymmetric == true,
            "--key and --claims can't both read standard input": keySource?.takesStandardInput == true && readsClaims,
            "--batch needs --key": isBatch && keySource == nil,
            "--payload-out can't be combined with --batch": isBatch && payloadOut != nil,
            "--detached can't be combined with --batch: the output would lack the claims": isBatch && form.isDetached,
            "--payload-out needs a file, because standard output is for the token":
                payloadOut?.isStandardOutput == true,
        ])
    }

    private func run(on console: Console) throws {
        let readsInput = claimsFile != nil || keySource?.takesStandardInput == true || isBatch
        if !readsInput { try claims.checkStandardInput(arguments, hasKey: keySource != nil) }
        let service = try service(console)
        if isBatch { return try runBatch(service, console) }
        let claims = try claims.claims(adding: claimsFile, arguments)
        if claims.isEmpty {
            console.warn(
                "the token has no claims; set some with --claim, or read them from standard input with --claims -"
            )
        }
        let signed = try sign(claims, service)
        let payload = try payloadOut.map { place throws(CommandFailure) in
            try StagedFile(path: place.path, mode: 0o644, octets: claims.serializedBytes(), replaces: false)
        }
        let generated = keySource == nil ? service.verificationKey.jwk.members : nil
        if console.writesJSON, let generated {
            try console.print(["token": signed, "publicKey": .object(generated)])
        } else {
            if let generated { console.note(generated.serialized()) }
            try SignatureForm.print(signed, as: "token", on: console)
        }
        try payload?.commit()
    }

    private func service(_ console: Console) throws -> SigningKey {
        guard let keySource else {
            let key = try SigningKey.generate(algorithm ?? .es256)
            return key.identified(by: header.keyID(of: key, own: key.verificationKey.thumbprint))
        }
        let (key, keyID) = try keySource.signingKey(for: algorithm, console)
        return key.identified(by: header.keyID(of: key, own: keyID))
    }

    private func sign(_ claims: JSONObject, _ service: SigningKey) throws -> JSONValue {
        guard form.isToken else {
            return try form.sign(claims.serializedData(), header: formHeader, with: service)
        }
        return .string(try JWTGenerator(header: header.parameters, payload: claims, signingService: service).token())
    }

    /// The header without a `typ` for an unencoded payload, which isn't a JWT ([RFC 7797
    /// §7](https://www.rfc-editor.org/rfc/rfc7797#section-7)).
    private var formHeader: JSONObject {
        var parameters = header.parameters
        if parameters["typ"] == nil, !form.isUnencoded { parameters["typ"] = "JWT" }
        return parameters
    }

    private func runBatch(_ service: SigningKey, _ console: Console) throws {
        // Unchanged claims are signed byte for byte.
        let isVerbatim = claims.isEmpty && form.isToken
        let parameters = header.parameters
        try BatchRun(input: claimsFile ?? .standardInput).run(on: console) { line in
            let others = try BatchRun.object(in: line)
            if isVerbatim {
                try ClaimOptions.check(others)
                let generator = JWTGenerator(header: parameters, claimsJSON: Data(line), signingService: service)
                return .token(try generator.token())
            }
            let claims = try self.claims.claims(adding: others, from: "the line", now: ClaimOptions.now)
            let signed = try sign(claims, service)
            return signed.string.map(BatchRun.Result.token) ?? .object(["token": signed])
        }
    }
}

struct HeaderOptions {
    private static let keyID = KeySource.keyID()
    private static let type = Option<String>("typ", value: "TYPE")
    private static let parameter = Option<Assignment>("header", isRepeatable: true)

    static let options = OptionDefinition.table([
        keyID: "The key ID; auto is the key's RFC 7638 thumbprint (default: the JWK's kid)",
        type: "The type, such as at+jwt (default: JWT for tokens)",
        parameter: "A header parameter; VALUE is JSON if it parses as JSON, and text otherwise",
    ]).section("Header")

    let parameters: JSONObject
    /// The key ID that the user specifies: `auto`, or the ID.
    let statedKeyID: String?

    init(_ arguments: ParsedArguments, payloadAdvice: String = "use --unencoded-payload") throws(UsageError) {
        var members = MemberCollection(kind: "header parameter")
        let type = arguments.value(of: Self.type)
        for assignment in arguments.values(of: Self.parameter) {
            switch assignment.name {
            case "alg": throw arguments.usageError("--header can't set alg; the key determines it")
            case "kid": throw arguments.usageError("--header can't set kid; use --kid")
            case "b64": throw arguments.usageError("--header can't set b64; \(payloadAdvice)")
            case "typ" where type != nil:
                throw arguments.usageError("typ is set by both --typ and --header; remove one")
            default: break
            }
            do throws(ValueError) {
                try members.add(assignment.name, assignment.value, from: Self.parameter.spelling)
            } catch {
                throw arguments.usageError(error.message)
            }
        }
        var parameters = members.object
        if let type { parameters["typ"] = .string(type) }
        self.parameters = parameters
        statedKeyID = arguments.value(of: Self.keyID)
    }

    func keyID(of key: SigningKey, own: String?) -> String? {
        statedKeyID == "auto" ? key.verificationKey.thumbprint : statedKeyID ?? own
    }
}

struct SignatureForm {
    enum Serialization: String, CaseIterable, NamedValue {
        case compact
        case json
        case general
    }

    static let section = "Form"

    private static let serialization = Option<Serialization>("format")
    private static let detached = Flag("detached")
    private static let unencoded = Flag("unencoded-payload")

    static let options = OptionDefinition.table([
        serialization:
            "A single line with three parts (default), or JSON: flattened, or general with a list of signatures",
        detached: "Omit the payload, which the verifier must then provide (RFC 7515, appendix F)",
        unencoded: "Sign the payload without base64url encoding (RFC 7797)",
    ]).section("Form")

    private let serialization: Serialization
    private let placement: JWSPayloadPlacement
    private let encoding: JWSPayloadEncoding

    init(_ arguments: ParsedArguments) {
        serialization = arguments.value(of: Self.serialization) ?? .compact
        placement = arguments.contains(Self.detached) ? .detached : .attached
        encoding = arguments.contains(Self.unencoded) ? .unencoded : .base64url
    }

    /// A Boolean value that indicates whether this is the form of a JWT ([RFC 7519
    /// §3](https://www.rfc-editor.org/rfc/rfc7519#section-3)).
    var isToken: Bool { serialization == .compact && placement == .attached && encoding == .base64url }
    var isDetached: Bool { placement == .detached }
    var isUnencoded: Bool { encoding == .unencoded }

    /// Returns a size that the result at least has.
    ///
    /// JSON needs six bytes for most control characters.
    func minimumSize(of payload: [UInt8]) -> Int {
        guard isUnencoded, !isDetached, serialization != .compact else { return 0 }
        return payload.reduce(0) { $0 + ($1 < 0x08 || (0x0E...0x1F).contains($1) ? 6 : 1) }
    }

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

    static func print(_ token: JSONValue, as member: String, on console: Console) throws(CommandFailure) {
        guard !console.writesJSON else { return try console.print([member: token]) }
        try console.print(token.string ?? token.object?.serialized() ?? "")
    }
}
