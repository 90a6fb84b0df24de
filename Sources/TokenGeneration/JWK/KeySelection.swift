/// The rules by which a verifier selects a key from a set.
///
/// By default, a token's `kid` must match exactly one key in the set that is for signatures and for
/// the token's `alg`. A token without `kid` is accepted if exactly one key in the set is for its
/// `alg`. Symmetric keys are ignored. Each property makes one exception to these rules.
///
/// Duplicate entries in a set count as one key. If more than 16 different keys could have signed a
/// token, the token is rejected without preparing any of them.
public struct KeySelection: Sendable {
    /// The treatment of the symmetric keys (`oct`) in a set.
    public struct SymmetricKeys: Hashable, Sendable {
        let areUsed: Bool

        /// Symmetric keys are ignored, so that a receiver that expects key pairs never verifies a
        /// token with a secret.
        public static var ignored: Self { Self(areUsed: false) }

        /// Symmetric keys verify HMAC algorithms, if the set contains only symmetric keys.
        ///
        /// In a set that also has key pairs, symmetric keys are still ignored. Such a set either
        /// reveals a secret or confuses who can sign what.
        ///
        /// - Warning: Everyone who knows a secret in the set can sign tokens. Never use this
        ///   setting for a set that another party publishes.
        public static var unsafelyUsed: Self { Self(areUsed: true) }
    }

    /// The maximum number of keys that are tried for one token, from 1, the default, to 16.
    ///
    /// If more keys could match a token, it's rejected. Use a higher number for issuers that rotate
    /// keys without a `kid` or with the same `kid` for several keys. Each attempt costs one
    /// verification.
    public var maximumCandidates: Int {
        get { allowedCandidates }
        set { allowedCandidates = Self.limited(newValue) }
    }
    private var allowedCandidates: Int
    /// The treatment of symmetric keys, which are ignored by default.
    public var symmetricKeys: SymmetricKeys
    /// The algorithms of keys that don't state `alg`.
    ///
    /// An RSA key can be used with six algorithms, and the token must not choose. If no entry fits
    /// such a key, it's ignored. If several entries fit, it's also ignored, because a key is for
    /// exactly one algorithm. The default, an empty array, is for the algorithms that the
    /// verifier's policy accepts.
    public var assumedAlgorithms: [JWSAlgorithm]
    /// The `use` that keys must state, such as `jwt-svid` in SPIFFE bundles.
    ///
    /// The default, `nil`, accepts keys that state `sig` or nothing.
    public var use: String?

    /// Creates the rules.
    public init(
        maximumCandidates: Int = 1,
        symmetricKeys: SymmetricKeys = .ignored,
        assumedAlgorithms: [JWSAlgorithm] = []
    ) {
        allowedCandidates = Self.limited(maximumCandidates)
        self.symmetricKeys = symmetricKeys
        self.assumedAlgorithms = assumedAlgorithms
    }

    static let candidateLimit = 16

    private static func limited(_ candidates: Int) -> Int { min(max(candidates, 1), candidateLimit) }

    /// Doesn't read the keys' numbers.
    func choices(for jwks: [JWK]) -> [Result<AlgorithmChoice, TokenError>] {
        let isSymmetric = jwks.allSatisfy(\.isSymmetric)
        return jwks.map { choice(for: $0, inSymmetricSet: isSymmetric) }
    }

    func choice(for jwk: JWK, in jwks: [JWK]) -> Result<AlgorithmChoice, TokenError> {
        choice(for: jwk, inSymmetricSet: jwk.isSymmetric && jwks.allSatisfy(\.isSymmetric))
    }

    private func choice(for jwk: JWK, inSymmetricSet isSymmetric: Bool) -> Result<AlgorithmChoice, TokenError> {
        Result { () throws(TokenError) in
            guard !jwk.isSymmetric || symmetricKeys.areUsed && isSymmetric else {
                throw TokenError(
                    .unsupportedKey,
                    "symmetric keys in a key set are ignored, unless the verifier uses them and the set has no other keys"
                )
            }
            return try usable(jwk).algorithmChoice(for: .verification, wanted: assumedAlgorithm(for: jwk))
        }
    }

    private func usable(_ jwk: JWK) throws(TokenError) -> JWK {
        guard let use else { return jwk }
        guard let found = jwk.use, found.isExactly(use) else {
            throw TokenError(.keyMismatch, "“use” of the JWK isn't \(TokenError.shown(use))")
        }
        var jwk = jwk
        jwk.use = nil
        return jwk
    }

    package func assuming(_ algorithms: Set<JWSAlgorithm>?) -> Self {
        guard assumedAlgorithms.isEmpty, let algorithms else { return self }
        var selection = self
        selection.assumedAlgorithms = algorithms.sorted { $0.rawValue < $1.rawValue }
        return selection
    }

    private func assumedAlgorithm(for jwk: JWK) -> JWSAlgorithm? {
        guard jwk.algorithm == nil else { return nil }
        let fitting = assumedAlgorithms.filter {
            $0.details?.fits(KeyType(rawValue: jwk.keyType), curve: jwk.curve) ?? false
        }
        return fitting.count == 1 ? fitting.first : nil
    }
}

extension JWK {
    fileprivate var isSymmetric: Bool { keyType.isExactly(KeyType.oct.rawValue) }
}
