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
}

/// Signs with ``JWSAlgorithm/hs256``.
public typealias HS256SigningService = AlgorithmSigningService<SigningAlgorithms.HS256>
/// Signs with ``JWSAlgorithm/hs384``.
public typealias HS384SigningService = AlgorithmSigningService<SigningAlgorithms.HS384>
/// Signs with ``JWSAlgorithm/hs512``.
public typealias HS512SigningService = AlgorithmSigningService<SigningAlgorithms.HS512>
/// Signs with ``JWSAlgorithm/es256``.
public typealias ES256SigningService = AlgorithmSigningService<SigningAlgorithms.ES256>
/// Signs with ``JWSAlgorithm/es384``.
public typealias ES384SigningService = AlgorithmSigningService<SigningAlgorithms.ES384>
/// Signs with ``JWSAlgorithm/es512``.
public typealias ES512SigningService = AlgorithmSigningService<SigningAlgorithms.ES512>
/// Signs with ``JWSAlgorithm/es256k``.
public typealias ES256KSigningService = AlgorithmSigningService<SigningAlgorithms.ES256K>
