import TokenGeneration

/// An algorithm for which the command can generate a key: for signatures or for encryption.
enum GeneratedAlgorithm: ArgumentValue, Equatable {
    case signature(JWSAlgorithm)
    case encryption(JWEAlgorithm)

    static let placeholder = "ALG"
    static let valueKind = OptionDefinition.ValueKind.choice(JWSAlgorithm.names + encryptionNames)

    /// The names of the algorithms for encryption, in display order.
    ///
    /// Passwords aren't generated.
    static let encryptionNames = JWEAlgorithm.implemented.filter { !$0.usesPassword }.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        if let algorithm = try? JWSAlgorithm(argument: argument) {
            self = .signature(algorithm)
        } else if let algorithm = JWEAlgorithm(rawValue: argument), !algorithm.usesPassword {
            self = .encryption(algorithm)
        } else {
            throw ValueError(
                message: "must be one of " + (JWSAlgorithm.names + Self.encryptionNames).joined(separator: ", ")
            )
        }
    }

    var name: String {
        switch self {
        case .signature(let algorithm): algorithm.rawValue
        case .encryption(let algorithm): algorithm.rawValue
        }
    }

    /// A Boolean value that indicates whether the key is a secret, without a public part.
    var isSymmetric: Bool {
        switch self {
        case .signature(let algorithm): algorithm.isSymmetric
        case .encryption: !isAgreement && !isRSA
        }
    }

    var isRSA: Bool { ["RS", "PS"].contains { name.hasPrefix($0) } }

    /// A Boolean value that indicates whether the key is for key agreement, on any of several
    /// curves.
    var isAgreement: Bool { name.hasPrefix("ECDH-") }
}
