import Foundation
import OAuth2
import TokenGeneration
import WorkloadIdentity

/// The `jwt whoami` command: shows the identities that the platform offers to this process.
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
        let addresses = try arguments.values(of: from)
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

    /// Returns the sources of this process, in a fixed order.
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
