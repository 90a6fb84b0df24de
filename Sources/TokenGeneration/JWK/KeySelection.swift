/// How a verifier chooses among the keys of a set.
///
/// As it is by default: a token's `kid` must name a key of the set; exactly one key must have that `kid`, be for signatures
/// and have the token's `alg`; a token without `kid` is accepted if exactly one key of the set is for its `alg`. Symmetric
/// keys are passed over. Each property makes one exception.
///
/// An entry that occurs twice in a set is one key. A token that more than 16 different keys could have signed is refused, and
/// none of them is prepared for it.
public struct KeySelection: Sendable {
    /// How many keys may be tried on one token.
    public struct CandidateLimit: Hashable, Sendable {
        let maximum: Int

        /// One: if several keys could be the token's, it is refused.
        public static let one = CandidateLimit(maximum: 1)

        /// The most keys that can be tried, and that are prepared for one token: 16.
        static let limit = 16

        /// All keys that could be the token's, up to a number of them; if there are more, the token is refused.
        ///
        /// For issuers that rotate keys and give them no `kid`, or one `kid` for several. Each trial costs one verification.
        ///
        /// - Parameter limit: The most keys to try, 1 to 16.
        /// - Returns: The setting.
        public static func all(upTo limit: Int) -> CandidateLimit {
            CandidateLimit(maximum: min(max(limit, 1), Self.limit))
        }
    }

    /// What is done with the symmetric keys (`oct`) of a set.
    public struct SymmetricKeys: Hashable, Sendable {
        private enum Wrapped { case ignored, used }
        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }

        /// They are passed over, so that no token is verified with a secret where its receiver expects key pairs.
        public static var ignored: Self { Self(.ignored) }

        /// They verify HMAC algorithms, in a set of nothing but symmetric keys.
        ///
        /// In a set that has key pairs, too, they are passed over all the same: who mixes them has published a secret, or
        /// confuses who can sign what.
        ///
        /// - Warning: Whoever knows a secret of the set can sign tokens. Never use this for a set that somebody else publishes.
        public static var unsafelyUsed: Self { Self(.used) }

        var areUsed: Bool { wrapped == .used }
    }

    /// How many keys may be tried on one token; by default one.
    public var candidates: CandidateLimit
    /// What is done with symmetric keys; by default they are passed over.
    public var symmetricKeys: SymmetricKeys
    /// The algorithms that keys without `alg` are for.
    ///
    /// An RSA key can be for six, and a token must not choose: without an entry here that fits it, such a key is passed over.
    /// If several entries fit a key, it is passed over, too: a key is for one algorithm.
    public var assumedAlgorithms: [JWSAlgorithm]

    /// Makes the settings.
    ///
    /// - Parameters:
    ///   - candidates: How many keys may be tried on one token.
    ///   - symmetricKeys: What is done with symmetric keys.
    ///   - assumedAlgorithms: The algorithms that keys without `alg` are for.
    public init(
        candidates: CandidateLimit = .one,
        symmetricKeys: SymmetricKeys = .ignored,
        assumedAlgorithms: [JWSAlgorithm] = []
    ) {
        self.candidates = candidates
        self.symmetricKeys = symmetricKeys
        self.assumedAlgorithms = assumedAlgorithms
    }
}

extension KeySelection {
    /// Finds out what algorithms the keys of a set are for, or why they are passed over, without reading their numbers.
    func choices(for jwks: [JWK]) -> [Result<AlgorithmChoice, TokenError>] {
        let isSymmetric = jwks.allSatisfy(\.isSymmetric)
        return jwks.map { jwk in
            Result { () throws(TokenError) in
                guard !jwk.isSymmetric || symmetricKeys.areUsed && isSymmetric else {
                    throw TokenError(
                        .unsupportedKey,
                        "a symmetric key of a key set verifies only if the verifier is told to use it, and there are no others"
                    )
                }
                return try jwk.algorithmChoice(for: .verification, wanted: assumedAlgorithm(for: jwk))
            }
        }
    }

    /// The one assumed algorithm that fits a key which states none.
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
