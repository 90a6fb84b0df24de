import TokenGeneration

extension KeySelection {
    /// Creates a selection that assumes the expected algorithms for keys that don't state one.
    init(expecting algorithms: Set<JWSAlgorithm>) {
        self.init(assumedAlgorithms: algorithms.sorted { $0.rawValue < $1.rawValue })
    }
}

extension UnverifiedToken {
    /// Rejects a token signed with an unexpected algorithm, before its key is fetched.
    ///
    /// - Throws: `TokenError` with the code `algorithmMismatch`.
    func checkAlgorithm(_ algorithms: Set<JWSAlgorithm>, of what: String) throws(TokenError) {
        let name = unverifiedHeader["alg"]?.string
        // `none` isn't a valid `JWSAlgorithm`, so it never matches.
        guard let algorithm = name.flatMap(JWSAlgorithm.init(rawValue:)), algorithms.contains(algorithm) else {
            let expected = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw TokenError(
                .algorithmMismatch,
                "\(what) is not signed with the algorithm registered for the client: \(expected)"
            )
        }
    }
}
