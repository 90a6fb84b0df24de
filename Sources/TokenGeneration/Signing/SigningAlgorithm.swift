/// A type that stands for an algorithm, so that a service can have it in its own type.
public protocol SigningAlgorithm: Sendable {
    /// The algorithm that the type stands for.
    static var algorithm: JWSAlgorithm { get }
}

/// The types that stand for the algorithms of the package.
public enum SigningAlgorithms {
    /// Stands for ``JWSAlgorithm/hs256``.
    public enum HS256: SigningAlgorithm {
        /// ``JWSAlgorithm/hs256``.
        public static var algorithm: JWSAlgorithm { .hs256 }
    }
    /// Stands for ``JWSAlgorithm/hs384``.
    public enum HS384: SigningAlgorithm {
        /// ``JWSAlgorithm/hs384``.
        public static var algorithm: JWSAlgorithm { .hs384 }
    }
    /// Stands for ``JWSAlgorithm/hs512``.
    public enum HS512: SigningAlgorithm {
        /// ``JWSAlgorithm/hs512``.
        public static var algorithm: JWSAlgorithm { .hs512 }
    }
    /// Stands for ``JWSAlgorithm/rs256``.
    public enum RS256: SigningAlgorithm {
        /// ``JWSAlgorithm/rs256``.
        public static var algorithm: JWSAlgorithm { .rs256 }
    }
    /// Stands for ``JWSAlgorithm/rs384``.
    public enum RS384: SigningAlgorithm {
        /// ``JWSAlgorithm/rs384``.
        public static var algorithm: JWSAlgorithm { .rs384 }
    }
    /// Stands for ``JWSAlgorithm/rs512``.
    public enum RS512: SigningAlgorithm {
        /// ``JWSAlgorithm/rs512``.
        public static var algorithm: JWSAlgorithm { .rs512 }
    }
    /// Stands for ``JWSAlgorithm/ps256``.
    public enum PS256: SigningAlgorithm {
        /// ``JWSAlgorithm/ps256``.
        public static var algorithm: JWSAlgorithm { .ps256 }
    }
    /// Stands for ``JWSAlgorithm/ps384``.
    public enum PS384: SigningAlgorithm {
        /// ``JWSAlgorithm/ps384``.
        public static var algorithm: JWSAlgorithm { .ps384 }
    }
    /// Stands for ``JWSAlgorithm/ps512``.
    public enum PS512: SigningAlgorithm {
        /// ``JWSAlgorithm/ps512``.
        public static var algorithm: JWSAlgorithm { .ps512 }
    }
    /// Stands for ``JWSAlgorithm/es256``.
    public enum ES256: SigningAlgorithm {
        /// ``JWSAlgorithm/es256``.
        public static var algorithm: JWSAlgorithm { .es256 }
    }
    /// Stands for ``JWSAlgorithm/es384``.
    public enum ES384: SigningAlgorithm {
        /// ``JWSAlgorithm/es384``.
        public static var algorithm: JWSAlgorithm { .es384 }
    }
    /// Stands for ``JWSAlgorithm/es512``.
    public enum ES512: SigningAlgorithm {
        /// ``JWSAlgorithm/es512``.
        public static var algorithm: JWSAlgorithm { .es512 }
    }
    /// Stands for ``JWSAlgorithm/es256k``.
    public enum ES256K: SigningAlgorithm {
        /// ``JWSAlgorithm/es256k``.
        public static var algorithm: JWSAlgorithm { .es256k }
    }
    /// Stands for ``JWSAlgorithm/ed25519``.
    public enum Ed25519: SigningAlgorithm {
        /// ``JWSAlgorithm/ed25519``.
        public static var algorithm: JWSAlgorithm { .ed25519 }
    }
    /// Stands for ``JWSAlgorithm/ed448``.
    public enum Ed448: SigningAlgorithm {
        /// ``JWSAlgorithm/ed448``.
        public static var algorithm: JWSAlgorithm { .ed448 }
    }
    /// Stands for ``JWSAlgorithm/edDSA``.
    public enum EdDSA: SigningAlgorithm {
        /// ``JWSAlgorithm/edDSA``.
        public static var algorithm: JWSAlgorithm { .edDSA }
    }
}

/// Signs with ``JWSAlgorithm/hs256``.
public typealias HS256SigningService = AlgorithmSigningService<SigningAlgorithms.HS256>
/// Signs with ``JWSAlgorithm/hs384``.
public typealias HS384SigningService = AlgorithmSigningService<SigningAlgorithms.HS384>
/// Signs with ``JWSAlgorithm/hs512``.
public typealias HS512SigningService = AlgorithmSigningService<SigningAlgorithms.HS512>
/// Signs with ``JWSAlgorithm/rs256``.
public typealias RS256SigningService = AlgorithmSigningService<SigningAlgorithms.RS256>
/// Signs with ``JWSAlgorithm/rs384``.
public typealias RS384SigningService = AlgorithmSigningService<SigningAlgorithms.RS384>
/// Signs with ``JWSAlgorithm/rs512``.
public typealias RS512SigningService = AlgorithmSigningService<SigningAlgorithms.RS512>
/// Signs with ``JWSAlgorithm/ps256``.
public typealias PS256SigningService = AlgorithmSigningService<SigningAlgorithms.PS256>
/// Signs with ``JWSAlgorithm/ps384``.
public typealias PS384SigningService = AlgorithmSigningService<SigningAlgorithms.PS384>
/// Signs with ``JWSAlgorithm/ps512``.
public typealias PS512SigningService = AlgorithmSigningService<SigningAlgorithms.PS512>
/// Signs with ``JWSAlgorithm/es256``.
public typealias ES256SigningService = AlgorithmSigningService<SigningAlgorithms.ES256>
/// Signs with ``JWSAlgorithm/es384``.
public typealias ES384SigningService = AlgorithmSigningService<SigningAlgorithms.ES384>
/// Signs with ``JWSAlgorithm/es512``.
public typealias ES512SigningService = AlgorithmSigningService<SigningAlgorithms.ES512>
/// Signs with ``JWSAlgorithm/es256k``.
public typealias ES256KSigningService = AlgorithmSigningService<SigningAlgorithms.ES256K>
/// Signs with ``JWSAlgorithm/ed25519``.
public typealias Ed25519SigningService = AlgorithmSigningService<SigningAlgorithms.Ed25519>
/// Signs with ``JWSAlgorithm/ed448``.
public typealias Ed448SigningService = AlgorithmSigningService<SigningAlgorithms.Ed448>
/// Signs with ``JWSAlgorithm/edDSA``.
public typealias EdDSASigningService = AlgorithmSigningService<SigningAlgorithms.EdDSA>
