import Foundation
import HTTPSignatures
import Networking

struct SignatureRules {
    static let profile = Option<SignatureProfileName>("signature-profile", value: "NAME")
    private static let required = Option<ComponentArgument>("require", isRepeatable: true)
    private static let allowsUnsignedContent = Flag("allow-unsigned-content")
    private static let tag = Option<String>("tag")
    private static let maximumAge = Option<TimeSpan>("max-age")
    static let options = OptionDefinition.table([
        profile: """
        The agreement with the signer, which says what a signature must cover, its parameters and its age: \
        \(SignatureProfileName.names)
        """,
        required: """
        A component that the signature must cover, such as @method, content-digest, @method;req or \
        @query-param;name=page; in addition to the profile, or instead of one
        """,
        allowsUnsignedContent: "With --require and without a profile: accept content that the signature doesn't cover",
        tag: "The required tag; signatures with another tag are ignored (default: the profile's tag, if any)",
        maximumAge: "The maximum time since the signature was created (default: the profile's, usually 5m)",
        PolicyOptions.leeway: nil,
        PolicyOptions.time: nil,
    ]).section("Checks")

    let date: Date
    private let arguments: ParsedArguments
    private let name: SignatureProfileName?
    private let required: [ComponentIdentifier]

    private var allowsUnsignedContent: Bool { arguments.contains(Self.allowsUnsignedContent) }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        name = arguments.value(of: Self.profile)
        required = arguments.values(of: Self.required).map(\.component)
        date = arguments.value(of: PolicyOptions.time)?.date ?? Date()
        try arguments.reject([
            """
            missing requirements; pass --signature-profile NAME or --require COMPONENT, because a signature protects \
            only what it covers
            """: name == nil && required.isEmpty,
            "--allow-unsigned-content and --signature-profile can't be combined": allowsUnsignedContent && name != nil,
        ])
    }

    /// A Boolean value that indicates whether `keyid` is the thumbprint of the key.
    var usesThumbprints: Bool { name == .webBotAuth }

    func profile(for message: HTTPMessage) throws(CommandFailure) -> SignatureProfile {
        var profile: SignatureProfile
        if let name {
            guard let found = message.isRequest ? name.request() : name.response else {
                throw CommandFailure(
                    .failed,
                    "the profile \(name.rawValue) is only for requests; pass --require COMPONENT"
                )
            }
            profile = found
        } else {
            profile = SignatureProfile(components: [])
            profile.nonce = .none
            profile.requiredParameters = ["created"]
            if !allowsUnsignedContent { profile.components = [.ifContent("content-digest")] }
        }
        profile.components += required.map { .required($0) }
        if let tag = arguments.value(of: Self.tag) { profile.tag = tag }
        if let age = arguments.value(of: Self.maximumAge) { profile.maximumAge = age.duration }
        if let leeway = arguments.value(of: PolicyOptions.leeway) { profile.clockSkew = leeway.duration }
        return profile
    }

    func advice(for error: HTTPSignatureError, _ parameters: SignatureParameters?) -> String {
        let advice = "; --at TIME checks as of another time"
        switch error.code {
        case .tooOld, .createdInFuture:
            return Timestamp.note("created", parameters?.created?.timeIntervalSince1970) + advice
        case .expired: return Timestamp.note("expires", parameters?.expires?.timeIntervalSince1970) + advice
        case .insufficientCoverage where name == nil && error.message.contains("content-digest"):
            return "; \(Self.allowsUnsignedContent.spelling) accepts such a signature"
        default: return ""
        }
    }
}

enum SignatureProfileName: String, CaseIterable, NamedValue {
    case standard
    case proxied
    case fapi2
    case gnap
    case openPayments = "open-payments"
    case webBotAuth = "web-bot-auth"
    case legacyActivityPub = "legacy-activitypub"

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

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

    var response: SignatureProfile? {
        switch self {
        case .standard: .standardResponse
        case .proxied: .proxiedResponse
        case .fapi2: .fapi2Response
        case .gnap, .openPayments, .webBotAuth, .legacyActivityPub: nil
        }
    }
}

/// A component of an HTTP message, such as `@method`, `content-digest`, `@method;req`,
/// `@query-param;name=page` or `"signature-input";key="sig1"`.
struct ComponentArgument: ArgumentValue, Equatable {
    static let placeholder = "COMPONENT"

    private static let expectation = ValueError(
        message: "must be a component such as @method, content-digest, @method;req or @query-param;name=page"
    )

    let component: ComponentIdentifier

    init(argument: String) throws(ValueError) {
        var text = argument
        if text.utf8.first != UInt8(ascii: "\"") {
            let name = text.prefix { $0 != ";" }
            guard !name.isEmpty, !name.contains("\""), !name.contains("\\") else { throw Self.expectation }
            text = "\"\(name)\"\(text[name.endIndex...])"
        }
        guard let item = try? StructuredField.Item(parsing: [text]), case .string(let name) = item.value else {
            throw Self.expectation
        }
        var parameters = StructuredField.Parameters()
        for (key, value) in item.parameters {
            // The shell removes quotation marks, so accept name=page for name="page".
            if case .token(let token) = value { parameters[key] = .string(token) } else { parameters[key] = value }
        }
        // Names of fields are case-insensitive, and lowercase in signatures.
        component = ComponentIdentifier(name.hasPrefix("@") ? name : name.lowercased(), parameters: parameters)
        do throws(HTTPSignatureError) {
            try component.validate()
        } catch {
            throw Self.expectation
        }
    }
}
