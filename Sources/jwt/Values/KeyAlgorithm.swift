import TokenGeneration

/// The algorithms that the command can make keys for.
enum KeyAlgorithm: String, CaseIterable, ArgumentValue {
    case es256 = "ES256"

    var algorithm: JWSAlgorithm {
        switch self {
        case .es256: .es256
        }
    }
}
