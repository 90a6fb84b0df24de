import Foundation
import Networking
import TokenGeneration

/// The verification keys: a single key, or a key set from a file, a URL or an issuer.
struct VerificationKeys {
    private static let key = KeySource.key(
        "The key: PEM, DER, JWK, certificate or JWK Set; a private key verifies with its public part"
    )
    private static let algorithm = Option<JWSAlgorithm>(
        "alg",
        "The algorithm, for keys that don't state it, such as an RSA key in PEM"
    )

    static let options =
        OptionDefinition.section(KeySource.section, [key, KeySource.options, algorithm]) + KeySetSource.options

    /// The meaning of the exit code for failures before the token is checked.
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

    /// - Throws: ``UsageError`` with the advice about options unless there is exactly one source.
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

    /// Creates the keys for a command whose `--key` has another purpose.
    init(
        _ arguments: ParsedArguments,
        key: KeySource?,
        named option: String = key.definition.spelling,
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

    /// The issuer of the keys, if known.
    var issuer: String? {
        if case .set(let source) = place { source.issuer } else { nil }
    }

    /// A Boolean value that indicates whether the key is read from standard input.
    var takesStandardInput: Bool {
        switch place {
        case .key(let source): source.takesStandardInput
        case .set(let source): source.takesStandardInput
        }
    }

    /// Reads or fetches the keys, and warns about certificates that aren't valid at the given time.
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

    /// Reads or fetches the keys for a verifier of tokens.
    func verifier(_ policy: ValidationPolicy, _ console: Console) throws(CommandFailure) -> JWTVerifier {
        switch try keys(console, at: policy.currentDate()) {
        case .one(let key): JWTVerifier(key: key, policy: policy)
        case .set(let set, let selection): JWTVerifier(keys: set, selection: selection, policy: policy)
        }
    }

    /// Reads or fetches the keys for a verifier of SD-JWTs.
    func selectiveVerifier(
        _ policy: ValidationPolicy,
        _ console: Console
    ) throws(CommandFailure) -> SDJWTVerifier {
        switch try keys(console, at: policy.currentDate()) {
        case .one(let key): SDJWTVerifier(key: key, policy: policy)
        case .set(let set, let selection): SDJWTVerifier(keys: set, selection: selection, policy: policy)
        }
    }

    private func selected(_ set: JWKSet) -> Keys {
        .set(set, KeySelection(assumedAlgorithms: algorithm.map { [$0] } ?? []))
    }
}
