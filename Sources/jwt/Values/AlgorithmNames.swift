import TokenGeneration

extension JWSAlgorithm: NamedValue {
    static let placeholder = "ALG"

    /// The names of the algorithms that work here.
    ///
    /// The initializer accepts the package's other algorithms, too. Using one fails with an error
    /// that names the required OpenSSL.
    static let names = implemented.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        guard let algorithm = Self.known.first(where: { $0.rawValue == argument }) else {
            throw ValueError(expecting: Self.names)
        }
        self = algorithm
    }
}

extension JWEAlgorithm: NamedValue {
    static let placeholder = "ALG"
    static let names = implemented.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        guard let algorithm = Self(rawValue: argument) else {
            let reason = argument == "RSA1_5" ? "; RSA1_5 isn't supported, because its padding is broken" : ""
            throw ValueError(message: ValueError(expecting: Self.names).message + reason)
        }
        self = algorithm
    }
}

extension JWEEncryption: NamedValue {
    static let placeholder = "ENC"
    static let names = implemented.map(\.rawValue)
}

extension KeyAgreementCurve: NamedValue {
    static let names = ["P-256", "P-384", "P-521", "X25519", "X448"]
}

enum GeneratedAlgorithm: ArgumentValue, Equatable {
    case signature(JWSAlgorithm)
    case encryption(JWEAlgorithm)

    static let placeholder = "ALG"
    static let valueKind = OptionDefinition.ValueKind.choice(names)

    private static let names = JWSAlgorithm.names + encryptionNames

    /// The names of the algorithms for encryption, without those for passwords.
    static let encryptionNames = JWEAlgorithm.implemented.filter { !$0.usesPassword }.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        if let algorithm = try? JWSAlgorithm(argument: argument) {
            self = .signature(algorithm)
        } else if let algorithm = JWEAlgorithm(rawValue: argument), !algorithm.usesPassword {
            self = .encryption(algorithm)
        } else {
            throw ValueError(expecting: Self.names)
        }
    }

    var name: String {
        switch self {
        case .signature(let algorithm): algorithm.rawValue
        case .encryption(let algorithm): algorithm.rawValue
        }
    }

    var isSymmetric: Bool {
        switch self {
        case .signature(let algorithm): algorithm.isSymmetric
        case .encryption: !isAgreement && !isRSA
        }
    }

    var isRSA: Bool { ["RS", "PS"].contains { name.hasPrefix($0) } }
    var isAgreement: Bool { name.hasPrefix("ECDH-") }
}
