import TokenGeneration

extension KeySelection {
    /// Keys that state no algorithm are for the one that is expected, if there is one.
    init(expecting algorithms: Set<JWSAlgorithm>) {
        self.init(assumedAlgorithms: algorithms.sorted { $0.rawValue < $1.rawValue })
    }
}

extension UnverifiedToken {
    /// Refuses a token before keys are looked for that is signed with an algorithm nobody expects.
    ///
    /// - Throws: `TokenError` with the code `algorithmMismatch`.
    func checkAlgorithm(_ algorithms: Set<JWSAlgorithm>, of what: String) throws(TokenError) {
        let name = unverifiedHeader["alg"]?.string
        // `none` is no algorithm, so that it can't be among them.
        guard let algorithm = name.flatMap(JWSAlgorithm.init(rawValue:)), algorithms.contains(algorithm) else {
            let expected = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw TokenError(
                .algorithmMismatch,
                "\(what) is not signed with the algorithm that the client is registered for: \(expected)"
            )
        }
    }
}
