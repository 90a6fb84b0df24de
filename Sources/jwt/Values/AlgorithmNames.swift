import TokenGeneration

extension JWSAlgorithm: NamedValue {
    static let placeholder = "ALG"

    /// The names of the algorithms that work here.
    ///
    /// The initializer accepts the package's other algorithms, too. Using one fails with an error
    /// that names the required OpenSSL.
    static let names = implemented.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        guard let algorithm = Self.known.first(where: { $0.rawValue == argument }) else { throw Self.unknownName }
        self = algorithm
    }
}

extension JWEAlgorithm: NamedValue {
    static let placeholder = "ALG"
    static let names = implemented.map(\.rawValue)

    init(argument: String) throws(ValueError) {
        guard let algorithm = Self(rawValue: argument) else {
            let reason = argument == "RSA1_5" ? "; RSA1_5 isn't supported, because its padding is broken" : ""
            throw ValueError(message: Self.unknownName.message + reason)
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
