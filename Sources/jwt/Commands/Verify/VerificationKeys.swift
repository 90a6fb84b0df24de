import Foundation
import HTTPSignatures
import Networking
import TokenGeneration

struct VerificationKeys {
    private static let key = KeySource.key(
        "The key: PEM, DER, JWK, certificate or JWK Set; a private key verifies with its public part"
    )
    private static let algorithm = KeySource.algorithm(
        "The algorithm, for keys that don't state it, such as an RSA key in PEM"
    )

    static let options =
        OptionDefinition.section(KeySource.section, [key, KeySource.options, algorithm]) + KeySetSource.options

    static let failure = "The key is unusable, or a file, a pipe or the network failed"

    private enum Place {
        case key(KeySource)
        case set(KeySetSource)
    }

    enum Keys {
        case one(VerificationKey)
        case set(JWKSet, KeySelection)
    }

    let algorithm: JWSAlgorithm?
    private let place: Place

    init(
        _ arguments: ParsedArguments,
        advice: String = "pass --key FILE, --key-env NAME, --jwks FILE|URL or --discover ISSUER"
    ) throws(UsageError) {
        try self.init(
            arguments,
            key: KeySource(arguments, key: Self.key),
            algorithm: arguments.value(of: Self.algorithm),
            advice: advice
        )
    }

    init(
        _ arguments: ParsedArguments,
        key: KeySource?,
        named option: String = key.spelling,
        algorithm: JWSAlgorithm?,
        advice: String
    ) throws(UsageError) {
        self.algorithm = algorithm
        let isSet = KeySetSource.options.prefix(2).contains { arguments.contains($0) }
        guard key != nil || isSet else { throw arguments.usageError("missing key; \(advice)") }
        switch (key, try KeySetSource(arguments)) {
        case (nil, let set?): place = .set(set)
        case (let key?, nil): place = .key(key)
        default: throw arguments.usageError("\(option), --jwks and --discover can't be combined")
        }
    }

    var issuer: String? {
        if case .set(let source) = place { source.issuer } else { nil }
    }

    var takesStandardInput: Bool {
        switch place {
        case .key(let source): source.takesStandardInput
        case .set(let source): source.takesStandardInput
        }
    }

    func keys(_ console: Console, at time: Date = Date()) throws(CommandFailure) -> Keys {
        switch place {
        case .key(let source):
            let file = try source.read(warningOn: console)
            file.warn(on: console, at: time)
            if let set = file.keySet { return selected(set) }
            return .one(try file.verificationKey(for: algorithm))
        case .set(let source):
            return selected(try source.keySet(warningOn: console))
        }
    }

    func verifier(_ policy: ValidationPolicy, _ console: Console) throws(CommandFailure) -> JWTVerifier {
        switch try keys(console, at: policy.currentDate()) {
        case .one(let key): JWTVerifier(key: key, policy: policy)
        case .set(let set, let selection): JWTVerifier(keys: set, selection: selection, policy: policy)
        }
    }

    func selectiveVerifier(_ policy: ValidationPolicy, _ console: Console) throws(CommandFailure) -> SDJWTVerifier {
        switch try keys(console, at: policy.currentDate()) {
        case .one(let key): SDJWTVerifier(key: key, policy: policy)
        case .set(let set, let selection): SDJWTVerifier(keys: set, selection: selection, policy: policy)
        }
    }

    private func selected(_ set: JWKSet) -> Keys {
        .set(set, KeySelection(assumedAlgorithms: algorithm.map { [$0] } ?? []))
    }
}

enum SignerKeys {
    private static let key = Option<InputFile>(
        "verify-key",
        "The key of the signer: PEM, DER, JWK, certificate or JWK Set"
    )
    private static let algorithm = Option<JWSAlgorithm>(
        "verify-alg",
        "The signature algorithm, for keys that don't state it"
    )

    static let options: [OptionDefinition] = [key.definition, algorithm.definition] + KeySetSource.options

    static func keys(_ arguments: ParsedArguments, advice: String) throws(UsageError) -> VerificationKeys {
        let file = arguments.value(of: key)
        return try VerificationKeys(
            arguments,
            key: file.map { file throws(UsageError) in
                try KeySource(arguments, file: file, algorithmOption: algorithm.spelling)
            },
            named: key.spelling,
            algorithm: arguments.value(of: algorithm),
            advice: advice
        )
    }
}

extension VerificationKeys {
    static let signatureOptions = options.filter { $0.longName != "discover" }.describing([
        "jwks": "A JWK Set: a file or an https URL (http only for this machine); the signature's keyid selects the key"
    ])

    /// Returns keys for a verifier of HTTP message signatures: a single key has any `keyid`, and a
    /// key in a set also has its thumbprint.
    func signatureKeys(
        _ console: Console,
        at time: Date,
        usesThumbprints: Bool
    ) throws(CommandFailure) -> SignatureKeys {
        switch try keys(console, at: time) {
        case .one(let key): return SignatureKeys { _ in key }
        case .set(let set, let selection):
            guard usesThumbprints else { return SignatureKeys(set, selection: selection) }
            let identified = set.keys.compactMap { jwk -> JWK? in
                guard let thumbprint = try? jwk.thumbprint else { return nil }
                var members = jwk.members
                members["kid"] = .string(thumbprint)
                return try? JWK(members)
            }
            return SignatureKeys(
                JWKSet(keys: identified, maximumRSAKeySize: set.maximumRSAKeySize),
                selection: selection
            )
        }
    }
}
