import TokenGeneration

/// An algorithm that the command can make keys for and sign with.
struct KeyAlgorithm: ArgumentValue, Equatable {
    static let valueKind = OptionDefinition.ValueKind.choice(names)

    let algorithm: JWSAlgorithm

    init(argument: String) throws(ValueError) {
        guard let algorithm = JWSAlgorithm.implemented.first(where: { $0.rawValue == argument }) else {
            throw ValueError(message: "must be one of " + Self.names.joined(separator: ", "))
        }
        self.algorithm = algorithm
    }

    /// The names, in the order in which they are listed.
    static let names = JWSAlgorithm.implemented.map(\.rawValue)
}
