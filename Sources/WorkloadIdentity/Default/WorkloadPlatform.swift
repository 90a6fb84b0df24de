import Foundation
public import OAuth2

/// A platform that may issue tokens to this process, for a ``DefaultTokenSource``.
public struct WorkloadPlatform: Sendable {
    let name: String
    let source: any TokenSource
    let obstacle: @Sendable () -> String?

    /// Creates a platform.
    ///
    /// - Parameters:
    ///   - name: The name for ``DefaultTokenSource/platform`` and for errors.
    ///   - source: The source of the platform's tokens.
    ///   - obstacle: Returns the reason why the process doesn't run on the platform, or `nil` if it
    ///     does. It must not wait for anything.
    public init(_ name: String, _ source: any TokenSource, obstacle: @escaping @Sendable () -> String?) {
        self.name = name
        self.source = source
        self.obstacle = obstacle
    }

    /// A job of GitHub Actions or Forgejo Actions.
    ///
    /// It applies with `ACTIONS_ID_TOKEN_REQUEST_URL` or `GITHUB_ACTIONS`.
    ///
    /// A job without the permission `id-token: write` applies, too, and fails with that advice.
    ///
    /// - Parameters:
    ///   - audience: The audience of the tokens.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The platform.
    public static func gitHubActions(
        audience: String?,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self("GitHub Actions", GitHubActionsSource(audience: audience, environment: environment)) {
            missing(["ACTIONS_ID_TOKEN_REQUEST_URL", "GITHUB_ACTIONS"], environment)
        }
    }

    /// A job of GitLab CI/CD.
    ///
    /// It applies with `GITLAB_CI` or the variable with the token.
    ///
    /// - Parameters:
    ///   - audience: The audience of the token.
    ///   - variable: The variable with the token. The default is `GITLAB_OIDC_TOKEN`.
    ///   - environment: The variables and clocks.
    /// - Returns: The platform.
    public static func gitLab(
        audience: String,
        variable: String = "GITLAB_OIDC_TOKEN",
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self("GitLab", GitLabSource(audience: audience, variable: variable, environment: environment)) {
            missing(["GITLAB_CI", variable], environment)
        }
    }

    /// A pod of Kubernetes with a projected token.
    ///
    /// - Parameters:
    ///   - audience: The audience of the token.
    ///   - path: The path of the token. It applies if the folder of the file exists.
    ///   - environment: The clocks.
    /// - Returns: The platform.
    public static func kubernetes(
        audience: String,
        path: String,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self(
            "Kubernetes",
            KubernetesServiceAccountSource(audience: audience, path: path, environment: environment)
        ) { missingFolder(of: path) }
    }

    /// A host with a SPIFFE agent that writes a JWT-SVID.
    ///
    /// - Parameters:
    ///   - audience: The audience of the document.
    ///   - path: The path of the document. It applies if the folder of the file exists.
    ///   - environment: The clocks.
    /// - Returns: The platform.
    public static func spiffe(
        audience: String,
        path: String,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self("SPIFFE", SPIFFEFileSource(audience: audience, path: path, environment: environment)) {
            missingFolder(of: path)
        }
    }

    /// A machine, app or function of Azure with a managed identity.
    ///
    /// It applies with `IDENTITY_ENDPOINT`, or on hardware that Azure has marked as its own.
    ///
    /// - Parameters:
    ///   - resource: The resource that the tokens are for.
    ///   - identity: The identity. The default is the one that Azure created with the machine.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The platform.
    public static func azure(
        resource: String,
        identity: AzureManagedIdentitySource.Identity = .systemAssigned,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        let source = AzureManagedIdentitySource(resource: resource, identity: identity, environment: environment)
        return Self("Azure", source) {
            hardware("chassis_asset_tag", is: { $0 == "7783-7084-3265-9085-8269-3286-77" })
                ? nil : missing(["IDENTITY_ENDPOINT"], environment)
        }
    }

    /// A machine, pod or function of Google Cloud, with ID tokens of its service account.
    ///
    /// It applies with `GCE_METADATA_HOST` or `K_SERVICE`, or on Google's hardware.
    ///
    /// - Parameters:
    ///   - audience: The audience of the tokens.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The platform.
    public static func google(
        audience: String,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        Self("Google Cloud", GoogleIdentityTokenSource(audience: audience, environment: environment)) {
            hardware("product_name", is: { $0.hasPrefix("Google") })
                ? nil : missing(["GCE_METADATA_HOST", "K_SERVICE"], environment)
        }
    }

    // MARK: Detection

    /// Returns the reason that none of the variables is set, or `nil` if one is.
    private static func missing(_ variables: [String], _ environment: WorkloadEnvironment) -> String? {
        guard variables.allSatisfy({ environment.variable($0)?.isEmpty ?? true }) else { return nil }
        return variables.count == 1 ? "\(variables[0]) isn't set" : "\(variables.joined(separator: " and ")) aren't set"
    }

    /// Returns the reason that a file's folder doesn't exist, or `nil` if it does.
    ///
    /// The file itself can be absent for a moment while it's replaced.
    private static func missingFolder(of path: String) -> String? {
        let folder = (path as NSString).deletingLastPathComponent
        return FileManager.default.fileExists(atPath: folder) ? nil : "“\(folder)” doesn't exist"
    }

    /// Returns a Boolean value that indicates whether the firmware identifies the machine.
    private static func hardware(_ name: String, is isOwn: (String) -> Bool) -> Bool {
        guard let data = FileManager.default.contents(atPath: "/sys/class/dmi/id/\(name)") else { return false }
        return isOwn(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
