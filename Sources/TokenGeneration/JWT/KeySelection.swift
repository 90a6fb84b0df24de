internal import OpenSSLCrypto

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

/// Selects by the members `kid`, `kty`, `crv`, `alg`, `use` and `key_ops`; only matching keys are
/// prepared, at most 16 for one token.
struct KeySelector: Sendable {
    private struct Candidate: Sendable {
        let entry: KeySetEntry
        let keyID: String?
        let choice: Result<AlgorithmChoice, TokenError>

        init(_ entry: KeySetEntry, _ choice: Result<AlgorithmChoice, TokenError>) {
            self.entry = entry
            keyID = entry.jwk.keyID
            self.choice = choice
        }

        var key: Result<VerificationKey, TokenError> { entry.key(for: choice) }

        /// Known without preparing the key.
        var refusal: TokenError? {
            if case .failure(let reason) = choice { reason } else { nil }
        }

        /// Such a key has a single algorithm only if the verifier names it.
        var needsAssumption: Bool {
            entry.jwk.algorithm == nil && (try? entry.jwk.algorithmChoice(for: .verification, wanted: nil)) == nil
        }

        func isFor(_ algorithm: String) -> Bool {
            if case .success(let choice) = choice { choice.accepts(algorithm) } else { false }
        }

        func isDamaged(_ reason: TokenError, for algorithm: String) -> Bool {
            [.malformedKey, .weakKey, .tooLarge].contains(reason.code)
                && entry.jwk.algorithm?.isExactly(algorithm) ?? false
        }
    }

    private let candidates: [Candidate]
    private let selection: KeySelection
    /// Entries that aren't JWKs.
    private let hasRejections: Bool

    init(_ keys: JWKSet, _ selection: KeySelection = KeySelection()) {
        self.selection = selection
        hasRejections = !keys.rejections.isEmpty
        candidates = zip(keys.entries, selection.choices(for: keys.keys)).map { Candidate($0, $1) }
    }

    /// Returns `nil` if an entry can't verify, or if the set has too many entries.
    ///
    /// Every key must have signed, so a set with more entries than valid signatures needn't be
    /// prepared. Only a set of up to 16 entries is prepared anyway, because they may repeat a key.
    func everyKey(of signatureCount: Int) -> [VerificationKey]? {
        guard !hasRejections, candidates.count <= max(signatureCount, KeySelection.candidateLimit),
            candidates.allSatisfy({ $0.refusal == nil })
        else { return nil }
        var keys: [VerificationKey] = []
        for candidate in candidates {
            // Stops at the first key that can't verify.
            guard case .success(let key) = candidate.key else { return nil }
            keys.append(key)
        }
        return keys
    }

    func keys(for header: ProtectedHeader) throws(TokenError) -> [VerificationKey] {
        guard let keyID = header.keyID else {
            let keys = try prepared(candidates.filter { $0.isFor(header.algorithm) }).keys
            guard !keys.isEmpty else {
                let text = "the token has no “kid”, and no key of the set is for its “alg”"
                let advice = candidates.contains(where: \.needsAssumption) ? Self.advice : ""
                let found = candidates.compactMap { try? $0.choice.get().details.algorithm }
                let names = JWSAlgorithm.edwardsAdvice(header.algorithm, found)
                throw TokenError(.algorithmMismatch, "\(text) \(TokenError.shown(header.algorithm))\(advice)\(names)")
            }
            return keys
        }
        let named = candidates.filter { $0.keyID?.isExactly(keyID) ?? false }
        guard let first = named.first else {
            throw TokenError(.unknownKey, "the key set has no key with the token's “kid” \(TokenError.shown(keyID))")
        }
        let (keys, refusals) = try prepared(named.filter { $0.isFor(header.algorithm) })
        guard !keys.isEmpty else {
            let others = named.allSatisfy { $0.refusal != nil } ? first.refusal : nil
            let reason = refusals.first?.reason ?? others
            if let reason, reason.code != .algorithmRequired {
                let text = "the key with the token's “kid” \(TokenError.shown(keyID)) can't be used: \(reason.message)"
                throw TokenError(reason.code, text, cause: reason)
            }
            let found = named.compactMap { try? $0.choice.get().details.algorithm }
            let purpose = found.isEmpty ? "states none" : "is for \(found.map(\.rawValue).joined(separator: " or "))"
            let names = JWSAlgorithm.edwardsAdvice(header.algorithm, found)
            let advice = (named.contains(where: \.needsAssumption) ? Self.advice : "") + names
            throw TokenError(
                reason?.code ?? .algorithmMismatch,
                "“alg” of the token is \(TokenError.shown(header.algorithm)), but the key with its “kid” \(purpose)\(advice)",
                cause: reason
            )
        }
        let damaged = refusals + named.compactMap { candidate in candidate.refusal.map { (candidate, $0) } }
        // The issuer gave two keys the same ID and one is unreadable, so the token's key is
        // unknown.
        guard !damaged.contains(where: { $0.isDamaged($1, for: header.algorithm) }) else {
            throw TokenError(
                .ambiguousKey,
                "several keys in the set have the token's “kid”, and one of them is damaged"
            )
        }
        return keys
    }

    private static let advice =
        "; for a key without “alg”, name exactly one algorithm in the policy's `algorithms` or in `assumedAlgorithms`"

    /// Returns the keys to try, and the candidates that can't be used.
    private func prepared(
        _ candidates: [Candidate]
    ) throws(TokenError) -> (keys: [VerificationKey], refusals: [(candidate: Candidate, reason: TokenError)]) {
        let different = try different(candidates)
        var keys: [VerificationKey] = []
        var refusals: [(candidate: Candidate, reason: TokenError)] = []
        for candidate in different {
            switch candidate.key {
            // The same number can have two encodings.
            case .success(let key) where keys.contains { $0.thumbprint == key.thumbprint }: continue
            case .success(let key): keys.append(key)
            case .failure(let reason): refusals.append((candidate, reason))
            }
            guard keys.count <= selection.maximumCandidates else { throw Self.ambiguous(selection.maximumCandidates) }
        }
        return (keys, refusals)
    }

    private func different(_ candidates: [Candidate]) throws(TokenError) -> [Candidate] {
        guard candidates.count > 1 else { return candidates }
        var identities: Set<[UInt8]> = []
        var different: [Candidate] = []
        for candidate in candidates {
            if let identity = candidate.entry.identity, !identities.insert(identity).inserted { continue }
            guard different.count < KeySelection.candidateLimit else {
                throw Self.ambiguous(KeySelection.candidateLimit)
            }
            different.append(candidate)
        }
        return different
    }

    private static func ambiguous(_ limit: Int) -> TokenError {
        TokenError(
            .ambiguousKey,
            "more than \(limit) keys in the set match the token; give each key a different “kid”"
        )
    }
}

/// The parsed headers of tokens that a verifier has accepted.
///
/// Tokens of one issuer usually have identical headers. The parsed header and the matching keys
/// depend only on the header's bytes and on the verifier. A header is kept only after a signature
/// over it was verified, so that attackers can't fill the cache with other headers.
final class KnownHeaders: Sendable {
    /// A well-formed header without extensions.
    final class Entry: Sendable {
        let header: ProtectedHeader
        let keys: [VerificationKey]
        private let text: [UInt8]
        private let next = SetOnce<Entry>()

        init(_ header: ProtectedHeader, _ keys: [VerificationKey], text: [UInt8]) {
            self.header = header
            self.keys = keys
            self.text = text
        }

        fileprivate func find<Result>(_ token: CompactToken, _ body: (Entry) -> Result) -> Result? {
            if token.hasHeader(text) { return body(self) }
            return next.withObject { $0.find(token, body) } ?? nil
        }

        fileprivate func append(_ new: Entry, capacity: Int) {
            guard capacity > 0, text != new.text, !next.set(new) else { return }
            next.withObject { $0.append(new, capacity: capacity - 1) }
        }
    }

    /// More than a rotation of keys uses at a time.
    private static let capacity = 4
    private let first = SetOnce<Entry>()

    func withEntry<Result>(for token: CompactToken, _ body: (Entry) -> Result) -> Result? {
        first.withObject { $0.find(token, body) } ?? nil
    }

    func keep(_ new: Entry) {
        if !first.set(new) { first.withObject { $0.append(new, capacity: Self.capacity - 1) } }
    }
}

enum VerificationKeySource: Sendable {
    case list([VerificationKey])
    case set(KeySelector)

    /// At least one, all for the header's algorithm.
    ///
    /// A single key is always tried, regardless of `kid`. If there are several keys, those with the
    /// header's `kid` match. If no key has it, those without a `kid` match.
    func keys(for header: ProtectedHeader) throws(TokenError) -> [VerificationKey] {
        switch self {
        case .set(let selector): return try selector.keys(for: header)
        case .list(let keys):
            if keys.count == 1, keys[0].accepts(algorithm: header.algorithm) { return keys }
            let matching = keys.filter { $0.accepts(algorithm: header.algorithm) }
            guard !matching.isEmpty else { throw Self.mismatch(header, keys) }
            guard keys.count > 1, let keyID = header.keyID else { return matching }
            let named = matching.filter { $0.keyID?.isExactly(keyID) ?? false }
            let meant = named.isEmpty ? matching.filter { $0.keyID == nil } : named
            guard !meant.isEmpty else {
                throw TokenError(.unknownKey, "no key has the header's “kid” \(TokenError.shown(keyID))")
            }
            return meant
        }
    }

    /// Returns `nil` if an entry can't verify or the set has more entries than there are
    /// signatures.
    func everyKey(of signatureCount: Int) -> [VerificationKey]? {
        switch self {
        case .list(let keys): keys
        case .set(let selector): selector.everyKey(of: signatureCount)
        }
    }

    private static func mismatch(_ header: ProtectedHeader, _ keys: [VerificationKey]) -> TokenError {
        let stated = "“alg” of the header is \(TokenError.shown(header.algorithm))"
        guard let key = keys.first, keys.count == 1 else {
            let names = JWSAlgorithm.edwardsAdvice(header.algorithm, keys.map(\.algorithm))
            return TokenError(.algorithmMismatch, "\(stated), but no key is for that algorithm\(names)")
        }
        let names = JWSAlgorithm.edwardsAdvice(header.algorithm, [key.algorithm])
        return TokenError(.algorithmMismatch, "\(stated), but the key is for \(key.algorithm)\(names)")
    }
}
