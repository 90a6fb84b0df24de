internal import OpenSSLCrypto

/// The requirements for the encryption of a JWE.
///
/// Both lists are required, so that a sender can't choose an algorithm that you didn't expect
/// ([RFC 8725 §3.1](https://www.rfc-editor.org/rfc/rfc8725#section-3.1)).
///
/// ```swift
/// let policy = DecryptionPolicy(
///     algorithms: [.ecdhESA256KW],
///     encryptions: [.a256GCM]
/// )
/// ```
///
/// Compressed content (`zip`) is always rejected: a small token could expand to gigabytes, and the
/// size of compressed content reveals something about it.
public struct DecryptionPolicy: Sendable {
    /// The accepted values of `alg`.
    public var algorithms: Set<JWEAlgorithm>
    /// The accepted values of `enc`.
    public var encryptions: Set<JWEEncryption>
    /// The maximum number of PBKDF2 iterations of password-based algorithms, `p2c`; 0, the default,
    /// rejects these algorithms even if ``algorithms`` lists them.
    ///
    /// The sender chooses the number, and you spend the time: a million iterations take about half
    /// a second. The minimum is 1000
    /// ([RFC 7518 §4.8.1.2](https://www.rfc-editor.org/rfc/rfc7518#section-4.8.1.2)), and more than
    /// 10,000,000 count as that.
    public var maximumPasswordIterations: Int
    /// The header parameters that `crit` may name, none by default.
    ///
    /// By naming a parameter here, you confirm that you act on its value in
    /// ``DecryptedJWE/header``.
    public var understoodExtensions: Set<String> = []
    /// The headers of a JSON serialization in which `alg` and `enc` may be; by default those that
    /// the sender can't leave unprotected.
    public var headerPlacement: JWEHeaderPlacement = .protected
    /// The maximum size of a JWE.
    public var limits = JWELimits()

    /// Creates a policy in which the other properties have their default values.
    public init(
        algorithms: Set<JWEAlgorithm>,
        encryptions: Set<JWEEncryption>,
        maximumPasswordIterations: Int = 0
    ) {
        self.algorithms = algorithms
        self.encryptions = encryptions
        self.maximumPasswordIterations = maximumPasswordIterations
    }

    func check(_ header: JWEHeader) throws(TokenError) -> (JWEAlgorithmDescription, JWEEncryption) {
        guard let algorithm = JWEAlgorithm(rawValue: header.algorithm) else {
            let reason =
                header.algorithm.isExactly("RSA1_5")
                ? "whose padding lets an attacker decrypt tokens" : "which isn't a supported encryption algorithm"
            throw TokenError(
                .unsupportedAlgorithm,
                "“alg” of the header is \(TokenError.shown(header.algorithm)), \(reason)"
            )
        }
        guard let encryption = JWEEncryption(rawValue: header.encryption) else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“enc” of the header is \(TokenError.shown(header.encryption)), which isn't supported"
            )
        }
        guard algorithms.contains(algorithm) else {
            throw TokenError(.algorithmMismatch, "“alg” of the header is \(algorithm), which the policy doesn't allow")
        }
        guard encryptions.contains(encryption) else {
            throw TokenError(.algorithmMismatch, "“enc” of the header is \(encryption), which the policy doesn't allow")
        }
        guard !algorithm.details.usesPassword || maximumPasswordIterations > 0 else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(algorithm), but the policy has no limit for iterations; set "
                    + "maximumPasswordIterations"
            )
        }
        try header.criticalExtensions().check(areIn: understoodExtensions.subtracting(["b64"]))
        guard header["zip"] == nil else {
            throw TokenError(.compressionRejected, "the content is compressed (“zip”), which isn't supported")
        }
        return (algorithm.details, encryption)
    }

    func iterations(in header: JWEHeader) throws(TokenError) -> Int {
        guard let number = header["p2c"]?.number, let count = number.integer else {
            throw TokenError(.malformedToken, "“p2c” of the header must be an integer")
        }
        guard count >= PasswordDerivation.minimumIterations else {
            throw TokenError(.weakKey, "“p2c” of the header is below \(PasswordDerivation.minimumIterations)")
        }
        let limit = min(maximumPasswordIterations, PBKDF2.maximumIterations)
        guard count <= limit else {
            throw TokenError(.tooLarge, "“p2c” of the header exceeds the policy's limit of \(limit)")
        }
        return count
    }
}

/// The headers of a JSON serialization in which `alg` and `enc` may be.
public struct JWEHeaderPlacement: Hashable, Sendable {
    let allowsUnprotected: Bool

    /// `enc` must be in the protected header, and `alg` in the protected header or in that of the
    /// recipient.
    ///
    /// `alg` in a recipient's header isn't protected, but the recipient's key is for one algorithm.
    public static let protected = JWEHeaderPlacement(allowsUnprotected: false)

    /// `alg` and `enc` may be in any header.
    ///
    /// - Warning: An attacker can change `enc`, and the content then decrypts to something else if
    ///   the key fits both algorithms. Use this setting only for senders that you can't change.
    public static let unsafelyUnprotected = JWEHeaderPlacement(allowsUnprotected: true)
}
