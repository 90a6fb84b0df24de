public import OAuth2

/// A token source for a Kubernetes service account's projected token
/// ([Kubernetes](https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken)).
///
/// ```swift
/// let source = KubernetesServiceAccountSource(
///     audience: "https://as.example",
///     path: "/var/run/secrets/tokens/as"
/// )
/// ```
///
/// The token that each pod has by default is for the API server. Another party that gets it could
/// act in the cluster with it. The source therefore refuses a token without the audience.
public struct KubernetesServiceAccountSource: TokenSource {
    private let file: FileTokenSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience in the pod's `serviceAccountToken`.
    ///   - path: The path of the token in the container. The default is that of the token for the
    ///     API server.
    ///   - environment: The clocks.
    public init(
        audience: String,
        path: String = "/var/run/secrets/kubernetes.io/serviceaccount/token",
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        let advice = """
            add a projected volume with “serviceAccountToken: { path: …, audience: \(audience) }” to the pod, and pass \
            the path of its token
            """
        file = FileTokenSource(
            path: path,
            form: .jwt,
            audience: audience,
            missing: advice,
            audienceAdvice: advice,
            environment
        )
    }

    /// Reads the token, as ``FileTokenSource`` does.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await file.token(for: requirements)
    }
}
