import Glibc
import TokenGeneration

/// `jwt keygen`: makes a private key.
struct KeygenCommand {
    /// How keys are written.
    enum Format: String, CaseIterable, ArgumentValue {
        case pem
        case jwk
    }

    private static let algorithm = Option<KeyAlgorithm>(
        "alg",
        value: "ALG",
        isRequired: true,
        "The algorithm the key is for: \(KeyAlgorithm.names.joined(separator: ", "))"
    )
    private static let out = Option<OutputFile>(
        "out",
        short: "o",
        value: "FILE",
        "Where the private key goes, readable by you alone (default: standard output)"
    )
    private static let publicOut = Option<OutputFile>(
        "public-out",
        value: "FILE",
        "Where the public key goes, for those who check the tokens"
    )
    private static let format = Option<Format>(
        "format",
        value: "pem|jwk",
        "PKCS #8 and SPKI in PEM (default), or JSON Web Keys with the RFC 7638 thumbprint as kid (always for HS algorithms)"
    )
    private static let keyID = Option<NonEmptyText>(
        "kid",
        value: "ID",
        "The kid of JSON Web Keys instead of the thumbprint"
    )
    private static let rsaBits = Option<RSAKeySize>(
        "rsa-bits",
        value: "BITS",
        "The size of an RSA key: 2048 (default) to 8192"
    )
    private static let passwordFile = Option<InputFile>(
        "password-file",
        value: "FILE",
        "Encrypt the private key (PEM) with the password in this file"
    )
    private static let passwordEnvironment = Option<EnvironmentVariable>(
        "password-env",
        value: "NAME",
        "Encrypt it with the password in this environment variable"
    )
    private static let force = Flag("force", short: "f", "Replace files that exist")

    static let definition = CommandDefinition(
        name: "keygen",
        summary: "Make a private key",
        discussion: [
            """
            Prints the private key, or writes it to a new file. A file that exists is left alone unless --force is \
            given, and no file is ever half-written.
            """,
            """
            With --json, the result is {"privateKey":…,"publicKey":…,"kid":"…","thumbprint":"…"}; what goes to a file is \
            left out.
            """,
        ],
        options: [
            algorithm.definition, out.definition, publicOut.definition, format.definition, keyID.definition,
            rsaBits.definition, passwordFile.definition, passwordEnvironment.definition, force.definition,
        ],
        examples: [
            .init(
                purpose: "A private key, and the public key to give away",
                line: "jwt keygen --alg ES256 --out key.pem --public-out public.pem"
            ),
            .init(
                purpose: "The private key as a JSON Web Key",
                line: "jwt keygen --alg ES256 --format jwk --out key.jwk"
            ),
            .init(
                purpose: "A private key that is useless without its password",
                line: "jwt keygen --alg Ed25519 --out key.pem --password-file password.txt"
            ),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The key is made"),
            .init(code: 2, meaning: "A file exists or cannot be written, or standard output is closed"),
            .usage,
        ],
        action: { try KeygenCommand($0).run(on: $1) }
    )

    private let algorithm: JWSAlgorithm
    private let out: OutputFile
    private let publicOut: OutputFile?
    private let format: Format
    private let keyID: String?
    private let rsaKeySize: Int?
    private let password: PasswordSource?
    private let force: Bool

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        algorithm = try arguments.requiredValue(of: Self.algorithm).algorithm
        out = try arguments.value(of: Self.out) ?? .standardOutput
        publicOut = try arguments.value(of: Self.publicOut)
        let format = try arguments.value(of: Self.format)
        if algorithm.isSymmetric, format == .pem {
            throw arguments.usageError("\(algorithm) has a secret, which has no PEM form: use --format jwk")
        }
        if algorithm.isSymmetric, publicOut != nil {
            throw arguments.usageError("\(algorithm) has a secret and no public key: leave --public-out out")
        }
        self.format = format ?? (algorithm.isSymmetric ? .jwk : .pem)
        force = arguments.contains(Self.force)
        keyID = try arguments.value(of: Self.keyID)?.text
        if keyID != nil, self.format == .pem {
            throw arguments.usageError("PEM has no place for --kid: use --format jwk, or name it when signing")
        }
        rsaKeySize = try arguments.value(of: Self.rsaBits)?.bits
        if rsaKeySize != nil, !algorithm.rawValue.hasPrefix("RS"), !algorithm.rawValue.hasPrefix("PS") {
            throw arguments.usageError("--rsa-bits is for RS and PS algorithms; a key for \(algorithm) has one size")
        }
        password = try PasswordSource(arguments, file: Self.passwordFile, environment: Self.passwordEnvironment)
        if password != nil, self.format == .jwk {
            throw arguments.usageError("only PEM can be encrypted: leave the password out, or use --format pem")
        }
        if out == publicOut { throw arguments.usageError("the private and the public key need different places") }
    }

    private func run(on console: Console) throws {
        let password = try password?.read(warningOn: console)
        let key = try generate()
        let privateText = try privateText(of: key, password)
        // Both files are complete on the disk before either gets its name, and neither gets it if printing fails.
        let privateFile = try stage(privateText, at: out, mode: 0o600)
        let publicFile = try publicOut.flatMap { try stage(publicText(of: key), at: $0, mode: 0o644) }
        if out.isStandardOutput { console.warnOfReaders(of: "private key") }
        if console.writesJSON {
            try console.print(report(key, privateText))
        } else {
            if out.isStandardOutput { try console.print(privateText, terminator: "") }
            if let publicOut, publicOut.isStandardOutput { try console.print(publicText(of: key), terminator: "") }
        }
        try publicFile?.commit()
        do {
            try privateFile?.commit()
        } catch {
            publicFile?.revoke()
            throw error
        }
    }

    private func generate() throws(CommandFailure) -> SigningKey {
        do throws(TokenError) {
            guard let rsaKeySize else { return try SigningKey.generate(algorithm) }
            return try SigningKey.generate(algorithm, rsaKeySize: rsaKeySize)
        } catch {
            throw CommandFailure(.failed, error)
        }
    }

    /// The result for programs: what did not go to a file.
    private func report(_ key: SigningKey, _ privateText: String) throws -> JSONObject {
        var report: JSONObject = ["kid": .string(keyID ?? key.verificationKey.thumbprint)]
        if !algorithm.isSymmetric { report["thumbprint"] = .string(key.verificationKey.thumbprint) }
        if out.isStandardOutput { report["privateKey"] = try value(privateText) }
        if !algorithm.isSymmetric, publicOut?.isStandardOutput ?? true {
            report["publicKey"] = try value(publicText(of: key))
        }
        return report
    }

    /// A JWK as an object, PEM as text.
    private func value(_ text: String) throws -> JSONValue {
        format == .jwk ? .object(try JSONObject(parsing: text)) : .string(text)
    }

    private func stage(_ text: String, at place: OutputFile, mode: mode_t) throws(CommandFailure) -> StagedFile? {
        guard !place.isStandardOutput else { return nil }
        return try StagedFile(path: place.path, mode: mode, octets: Array(text.utf8), replaces: force)
    }

    private func privateText(of key: SigningKey, _ password: String?) throws -> String {
        switch format {
        case .pem:
            return try key.pem(password.map(PrivateKeyFormat.encryptedPKCS8) ?? .pkcs8)
        case .jwk:
            var jwk = try key.privateJWK()
            jwk.keyID = keyID ?? key.verificationKey.thumbprint
            return VisibleText.json(jwk.members.serialized()) + "\n"
        }
    }

    private func publicText(of key: SigningKey) throws -> String {
        switch format {
        case .pem:
            return try key.verificationKey.pem()
        case .jwk:
            var jwk = key.verificationKey.jwk
            jwk.keyID = keyID ?? key.verificationKey.thumbprint
            return VisibleText.json(jwk.members.serialized()) + "\n"
        }
    }
}
