import Foundation
import OAuth2
import TokenGeneration
import WorkloadIdentity

/// The identity that a source offers, as far as it's known without a request.
struct PlatformOffer {
    static let requestVariables = ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"]

    /// The path of the Kubernetes token for the API server.
    static let kubernetesPath = "/var/run/secrets/kubernetes.io/serviceaccount/token"

    private let name: String
    private let claims: RegisteredClaims?
    /// The reason why the source has no usable identity, or a hint.
    private let message: String?
    let isUsable: Bool

    init(_ address: PlatformSource) {
        name = address.name
        let source: any TokenSource
        switch address.kind {
        case .gitHubActions:
            let missing = Self.requestVariables.first { !EnvironmentVariable.isSet($0) }
            claims = nil
            isUsable = missing == nil
            message =
                missing.map { "\($0) isn't set; the job needs “permissions: id-token: write”" }
                ?? "the job can request a token for any audience"
            return
        case .azure, .google:
            // Without a variable, only a request shows whether this is such a machine.
            let variable = address.kind == .google ? "GCE_METADATA_HOST" : "IDENTITY_ENDPOINT"
            claims = nil
            isUsable = EnvironmentVariable.isSet(variable)
            message =
                isUsable
                ? "\(variable) is set: the machine's identity can get tokens for any audience"
                : "only a request shows whether this machine has an identity; try jwt token --from \(name)"
            return
        case .vault(let role, _, let jwt):
            let offer = PlatformOffer(jwt)
            let isAddressed = EnvironmentVariable.isSet(VaultEnvironment.address)
            claims = offer.claims
            isUsable = isAddressed && offer.isUsable
            message =
                !isAddressed
                ? "\(VaultEnvironment.address) isn't set"
                : offer.message ?? "can log in to Vault as “\(role)”, unless Vault rejects the token"
            return
        case .kubernetes(let path):
            source = FileTokenSource(path: path ?? Self.kubernetesPath)
        case .spiffe(let path), .file(let path): source = FileTokenSource(path: path)
        case .gitLab(let variable): source = EnvironmentTokenSource(variable ?? "GITLAB_OIDC_TOKEN")
        case .environment(let variable): source = EnvironmentTokenSource(variable)
        }
        do {
            let token = try AsynchronousWork.result { try await source.token() }
            claims = token.value.expose { text in
                guard let claims = try? UnverifiedToken(text).unverifiedClaims else { return nil }
                return try? JSONDecoder().decode(RegisteredClaims.self, from: claims.serializedData())
            }
            message = nil
            isUsable = true
        } catch {
            claims = nil
            message = (error as? WorkloadIdentityError)?.message ?? "\(error)"
            isUsable = false
        }
    }

    private var expiry: String? {
        claims?.expiration.map { $0.formatted(.iso8601) }
    }

    /// The lines for people.
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
