import TokenGeneration

/// A key management algorithm of an encrypted token.
struct EncryptionAlgorithm: ArgumentValue, Equatable {
    static let valueKind = OptionDefinition.ValueKind.choice(names)

    let algorithm: JWEAlgorithm

    init(argument: String) throws(ValueError) {
        guard let algorithm = JWEAlgorithm(rawValue: argument) else {
            let reason = argument == "RSA1_5" ? "; RSA1_5 isn't supported, because its padding is broken" : ""
            throw ValueError(message: "must be one of " + Self.names.joined(separator: ", ") + reason)
        }
        self.algorithm = algorithm
    }

    /// The names of all algorithms, in display order.
    static let names = JWEAlgorithm.implemented.map(\.rawValue)
}

/// A content encryption algorithm of an encrypted token.
struct ContentEncryption: ArgumentValue, Equatable {
    static let valueKind = OptionDefinition.ValueKind.choice(names)

    let encryption: JWEEncryption

    init(argument: String) throws(ValueError) {
        guard let encryption = JWEEncryption(rawValue: argument) else {
            throw ValueError(message: "must be one of " + Self.names.joined(separator: ", "))
        }
        self.encryption = encryption
    }

    /// The names of all algorithms, in display order.
    static let names = JWEEncryption.implemented.map(\.rawValue)
}

/// The number of PBKDF2 iterations of a password-based algorithm.
struct IterationCount: ArgumentValue, Equatable {
    let count: Int

    init(argument: String) throws(ValueError) {
        guard let count = Int(argument), (1_000...10_000_000).contains(count) else {
            throw ValueError(message: "must be a number from 1000 to 10000000")
        }
        self.count = count
    }
}

extension JWEAlgorithm {
    /// A Boolean value that indicates whether the key is a password.
    var usesPassword: Bool { rawValue.hasPrefix("PBES2-") }
}
