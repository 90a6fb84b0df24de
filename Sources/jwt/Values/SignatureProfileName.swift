import HTTPSignatures

/// The name of a profile of HTTP message signatures.
enum SignatureProfileName: String, CaseIterable, NamedValue {
    case standard
    case proxied
    case fapi2
    case gnap
    case openPayments = "open-payments"
    case webBotAuth = "web-bot-auth"
    case legacyActivityPub = "legacy-activitypub"

    /// The names for the help.
    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the profile for requests; the agent is for Web Bot Auth.
    func request(agent: SignatureAgent? = nil) -> SignatureProfile {
        switch self {
        case .standard: .standard
        case .proxied: .proxied
        case .fapi2: .fapi2Request
        case .gnap: .gnap
        case .openPayments: .openPayments
        case .webBotAuth: .webBotAuth(agent: agent)
        case .legacyActivityPub: .legacyActivityPub
        }
    }

    /// The profile for responses, or `nil` if the profile is only for requests.
    var response: SignatureProfile? {
        switch self {
        case .standard: .standardResponse
        case .proxied: .proxiedResponse
        case .fapi2: .fapi2Response
        case .gnap, .openPayments, .webBotAuth, .legacyActivityPub: nil
        }
    }
}
