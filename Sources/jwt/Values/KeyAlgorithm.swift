import TokenGeneration

/// An algorithm that the command supports for generating keys and signing.
struct KeyAlgorithm: ArgumentValue, Equatable {
    static let valueKind = OptionDefinition.ValueKind.choice(names)

    let algorithm: JWSAlgorithm

    init(argument: String) throws(ValueError) {
        guard let algorithm = JWSAlgorithm.known.first(where: { $0.rawValue == argument }) else {
            throw ValueError(message: "must be one of " + Self.names.joined(separator: ", "))
        }
        self.algorithm = algorithm
    }

    /// The names of the algorithms that work here, in display order.
    ///
    /// The initializer accepts the package's other algorithms, too. Using one fails with an error
    /// that names the required OpenSSL.
    static let names = JWSAlgorithm.implemented.map(\.rawValue)
}
