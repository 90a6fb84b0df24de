public import Foundation
public import Networking
public import OAuth2

/// A token source that uses the first platform that this process runs on.
///
/// ```swift
/// let source = DefaultTokenSource([
///     .gitHubActions(audience: audience),
///     .kubernetes(audience: audience, path: "/var/run/secrets/tokens/as"),
///     .google(audience: audience),
/// ])
/// ```
///
/// The source chooses when it's created, by variables and files, and sends no request for it. The
/// choice is final: if the chosen platform fails later, the source fails, and never continues with
/// another identity. ``skipped`` and the errors say which platforms don't apply, and why.
public struct DefaultTokenSource: TokenSource {
    /// The name of the chosen platform; `nil` if none applies.
    public let platform: String?
    /// The platforms before it in the list, with the reasons why they don't apply.
    public let skipped: [(name: String, reason: String)]
    private let source: (any TokenSource)?

    /// Creates a source, and chooses the platform.
    ///
    /// - Parameter platforms: The platforms, the preferred one first.
    public init(_ platforms: [WorkloadPlatform]) {
        var skipped: [(name: String, reason: String)] = []
        for platform in platforms {
            guard let reason = platform.obstacle() else {
                self.platform = platform.name
                self.skipped = skipped
                source = platform.source
                return
            }
            skipped.append((platform.name, reason))
        }
        platform = nil
        self.skipped = skipped
        source = nil
    }

    /// Returns a token of the chosen platform.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if no platform applies;
    ///   otherwise the errors of the chosen platform's source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        guard let source else {
            let reasons = skipped.map { "\($0.name): \($0.reason)" }.joined(separator: "; ")
            throw WorkloadIdentityError(
                .notConfigured,
                "none of the platforms applies to this process (\(reasons)); add the one that it runs on"
            )
        }
        return try await source.token(for: requirements)
    }
}

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

    /// `nil` if one is set.
    private static func missing(_ variables: [String], _ environment: WorkloadEnvironment) -> String? {
        guard variables.allSatisfy({ environment.variable($0)?.isEmpty ?? true }) else { return nil }
        return variables.count == 1 ? "\(variables[0]) isn't set" : "\(variables.joined(separator: " and ")) aren't set"
    }

    /// The file itself can be absent for a moment while it's replaced.
    private static func missingFolder(of path: String) -> String? {
        let folder = (path as NSString).deletingLastPathComponent
        return FileManager.default.fileExists(atPath: folder) ? nil : "“\(folder)” doesn't exist"
    }

    static func hardware(_ name: String, in folder: String = "/sys/class/dmi/id", is isOwn: (String) -> Bool) -> Bool {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return false }
        return isOwn(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

/// The environment variables, clocks and network that sources of platform tokens use.
///
/// The defaults are those of the process. Tests pass their own:
///
/// ```swift
/// let environment = WorkloadEnvironment(
///     variable: { ["CI_TOKEN": token][$0] },
///     timeSource: time.timeSource
/// )
/// ```
///
/// A source that requests tokens repeats a request up to four times, for at most 30 seconds, if the
/// endpoint can't be reached, is overloaded or fails. Each request can fail with a
/// ``WorkloadIdentityError``: `insecureEndpoint`, `platformUnavailable`, `platformRejected`,
/// `invalidResponse`, `tooLarge`, `malformedToken`, `expiredToken`, `rejectedToken`, or
/// `wrongAudience` for a token with an audience.
public struct WorkloadEnvironment: Sendable {
    let variable: @Sendable (String) -> String?
    let timeSource: TimeSource
    let random: @Sendable () -> Double
    let transport: (any HTTPTransport)?

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - variable: Returns the value of an environment variable. The default reads the process's
    ///     environment.
    ///   - timeSource: The source of time.
    ///   - transport: The transport for requests to the platform's endpoints. The default is a
    ///     `CurlTransport` without a proxy, which connects within two seconds. Pass one with a
    ///     proxy only if an endpoint outside the machine needs it, such as GitHub's from a
    ///     self-hosted runner.
    ///   - random: The source of random numbers from 0 through 1, which spread retries.
    public init(
        variable: @escaping @Sendable (String) -> String? = { ProcessInfo.processInfo.environment[$0] },
        timeSource: TimeSource = .system,
        transport: (any HTTPTransport)? = nil,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.variable = variable
        self.timeSource = timeSource
        self.transport = transport
        self.random = random
    }

    /// Throws `transportUnavailable` if libcurl can't be used.
    func platformTransport() throws(NetworkError) -> any HTTPTransport {
        if let transport { return transport }
        return try Self.direct.get()
    }

    // A proxy must not see the tokens of metadata services. An address that doesn't answer
    // shouldn't delay the start.
    private static let direct = Result { () throws(NetworkError) in
        try CurlTransport(configuration: directConfiguration)
    }

    static var directConfiguration: CurlTransport.Configuration {
        .init(connectTimeout: .seconds(2), maximumConnections: 8, proxy: .none)
    }

    func value(of name: String, advice: String) throws(WorkloadIdentityError) -> String {
        guard let value = variable(name), !value.isEmpty else {
            throw WorkloadIdentityError(.notConfigured, "\(name) isn't set; \(advice)")
        }
        return value
    }
}
