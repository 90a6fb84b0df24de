import Foundation
import OAuth2
import TokenGeneration
import WorkloadIdentity

struct WhoamiCommand {
    private static let from = Option<PlatformSource>(
        "from",
        isRepeatable: true,
        "Show this source instead of looking for sources: \(PlatformSource.forms)"
    )

    static let definition = CommandDefinition(
        name: "whoami",
        summary: "Show the identities that the platform offers",
        discussion: [
            """
            Prints the issuer, subject, audience and expiry of each token that the platform has put into a file or \
            an environment variable, UNVERIFIED. Never prints a token, and sends no request: of GitHub Actions, \
            Azure, Google Cloud and Vault, it shows whether a token can be requested, as far as variables tell.
            """,
            """
            Looks for the Kubernetes token for the API server, GitHub Actions, the variables of Azure and Google \
            Cloud, and JWTs in environment variables. \
            Kubernetes tokens for other audiences and SPIFFE documents have no fixed path: pass --from.
            """,
        ],
        options: [from],
        examples: [
            "Show what this machine offers": "jwt whoami",
            "Show a projected token": "jwt whoami --from kubernetes:/var/run/secrets/tokens/as",
            "Get an access token with it": "jwt token --from env:AS_TOKEN --profile prod",
        ],
        exitCodes: [
            0: "At least one source has a usable identity",
            1: "No source has one",
            2: "Writing the output failed",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let addresses = arguments.values(of: from)
        let offers = (addresses.isEmpty ? found() : addresses).map(PlatformOffer.init)
        if console.writesJSON {
            try console.print(JSONObject([("sources", .array(offers.map { .object($0.json) }))]))
        } else {
            for offer in offers { try console.print(offer.text) }
        }
        guard offers.contains(where: \.isUsable) else {
            throw CommandFailure(
                .rejected,
                offers.isEmpty
                    ? "found no identity; pass --from SOURCE, or run jwt whoami --help"
                    : "no source has a usable identity"
            )
        }
    }

    private static func found() -> [PlatformSource] {
        let environment = ProcessInfo.processInfo.environment
        var names: [String] = []
        if FileManager.default.fileExists(atPath: PlatformOffer.kubernetesPath) { names.append("kubernetes") }
        if PlatformOffer.requestVariables.contains(where: { environment[$0]?.isEmpty == false }) {
            names.append("github-actions")
        }
        if environment["IDENTITY_ENDPOINT"]?.isEmpty == false { names.append("azure") }
        if environment["GCE_METADATA_HOST"]?.isEmpty == false { names.append("gcp") }
        if let path = environment["AZURE_FEDERATED_TOKEN_FILE"], path.hasPrefix("/") { names.append("file:\(path)") }
        let form = environment["GITLAB_CI"] == nil ? "env" : "gitlab"
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where isToken(value) {
            names.append("\(form):\(name)")
        }
        return names.compactMap { try? PlatformSource(argument: $0) }
    }

    private static func isToken(_ value: String) -> Bool {
        value.hasPrefix("eyJ") && value.utf8.count <= 65_536 && (try? UnverifiedToken(value)) != nil
    }
}

struct PlatformOffer {
    static let requestVariables = ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"]

    static let kubernetesPath = "/var/run/secrets/kubernetes.io/serviceaccount/token"

    private let name: String
    private var claims: RegisteredClaims?
    private var message: String?
    private(set) var isUsable = false

    init(_ address: PlatformSource) {
        name = address.name
        switch address.kind {
        case .gitHubActions:
            let missing = Self.requestVariables.first { !EnvironmentVariable.isSet($0) }
            isUsable = missing == nil
            message =
                missing.map { "\($0) isn't set; the job needs “permissions: id-token: write”" }
                ?? "the job can request a token for any audience"
        case .azure, .google:
            // Without a variable, only a request shows whether this is such a machine.
            let variable = address.kind == .google ? "GCE_METADATA_HOST" : "IDENTITY_ENDPOINT"
            isUsable = EnvironmentVariable.isSet(variable)
            message =
                isUsable
                ? "\(variable) is set: the machine's identity can get tokens for any audience"
                : "only a request shows whether this machine has an identity; try jwt token --from \(name)"
        case .vault(let role, _, let jwt):
            let offer = PlatformOffer(jwt)
            let isAddressed = EnvironmentVariable.isSet(VaultEnvironment.address)
            claims = offer.claims
            isUsable = isAddressed && offer.isUsable
            message =
                !isAddressed
                ? "\(VaultEnvironment.address) isn't set"
                : offer.message ?? "can log in to Vault as “\(role)”, unless Vault rejects the token"
        case .kubernetes(let path): read(FileTokenSource(path: path ?? Self.kubernetesPath))
        case .spiffe(let path), .file(let path): read(FileTokenSource(path: path))
        case .gitLab(let variable): read(EnvironmentTokenSource(variable ?? "GITLAB_OIDC_TOKEN"))
        case .environment(let variable): read(EnvironmentTokenSource(variable))
        }
    }

    private mutating func read(_ source: any TokenSource) {
        do {
            let token = try AsynchronousWork.result { try await source.token() }
            claims = token.value.expose { text in
                try? UnverifiedToken(text).unverifiedClaims.decode(as: RegisteredClaims.self)
            }
            isUsable = true
        } catch {
            message = (error as? WorkloadIdentityError)?.message ?? "\(error)"
        }
    }

    private var expiry: String? { claims?.expiration.map { $0.formatted(.iso8601) } }

    var text: String {
        let rows = [
            ("issuer", claims?.issuer), ("subject", claims?.subject),
            ("audience", claims.flatMap { $0.audience.isEmpty ? nil : $0.audience.joined(separator: ", ") }),
            ("expires", expiry), (isUsable ? "note" : "unusable", message),
        ]
        let lines = rows.compactMap { label, value in
            value.map { "  \(label.padding(toLength: 9, withPad: " ", startingAt: 0)) \(VisibleText.line($0))" }
        }
        return ([VisibleText.line(name)] + lines).joined(separator: "\n")
    }

    var json: JSONObject {
        var json: JSONObject = ["source": .string(name), "usable": .bool(isUsable)]
        json["iss"] = claims?.issuer.map(JSONValue.string)
        json["sub"] = claims?.subject.map(JSONValue.string)
        if let audience = claims?.audience, !audience.isEmpty { json["aud"] = .array(audience.map(JSONValue.string)) }
        json["expires"] = expiry.map(JSONValue.string)
        json["message"] = message.map(JSONValue.string)
        return json
    }
}
