import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import TokenGeneration

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

/// A token source that requests a token for a service account from the Kubernetes API server
/// ([TokenRequest](https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/)).
///
/// ```swift
/// let source = KubernetesTokenRequestSource(
///     audience: "https://as.example",
///     serviceAccount: "reports"
/// )
/// ```
///
/// Each call requests a new token, for an audience that the pod's volumes don't have. Prefer a
/// ``KubernetesServiceAccountSource`` if the audience is known when the pod is created. The pod's
/// service account needs the permission to `create` the resource `serviceaccounts/token`.
public struct KubernetesTokenRequestSource: TokenSource {
    private let audience: String
    private let serviceAccount: String
    private let lifetime: Int
    private let folder: String
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience of the requested tokens.
    ///   - serviceAccount: The name of the service account, in the pod's namespace.
    ///   - lifetime: The requested lifetime in whole seconds, at least 600. The API server may
    ///     choose another one. The default is 600 seconds.
    ///   - folder: The folder with the files `token`, `namespace` and `ca.crt` for the API server.
    ///   - environment: The variables, clocks and network. Without a transport, the connection
    ///     trusts only the certificates in `ca.crt`.
    public init(
        audience: String,
        serviceAccount: String,
        lifetime: Duration = .seconds(600),
        folder: String = "/var/run/secrets/kubernetes.io/serviceaccount",
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.audience = audience
        self.serviceAccount = serviceAccount
        // The API server accepts up to 2³² seconds.
        self.lifetime = Int(min(max(lifetime, .seconds(600)), .seconds(1 << 32)).components.seconds)
        self.folder = folder
        self.environment = environment
    }

    /// Requests a token.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured`, `unreadableFile` or `insecureFile`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let namespace = try await namespace()
        var request = URLRequest(url: try url(namespace: namespace))
        request.httpMethod = "POST"
        let credential = try await file("token", form: .jwt).token()
        request.setValue(credential.value.expose { "Bearer \($0)" }, forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let spec: JSONObject = [
            "audiences": [.string(audience)], "expirationSeconds": .number(JSONNumber(lifetime)),
        ]
        let body: JSONObject = [
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": .object(spec),
        ]
        request.httpBody = body.serializedData()
        let endpoint = PlatformEndpoint(
            name: "the API server",
            environment: environment,
            permission: """
                the pod's service account needs a role that may “create” “serviceaccounts/token” of “\(serviceAccount)”
                """
        )
        let response = try await endpoint.response(
            to: request,
            until: requirements.deadline,
            on: transport(),
            expecting: [200, 201]
        )
        guard let token = (try? JSONObject(parsing: response.body))?["status"]?.object?["token"]?.string else {
            throw endpoint.invalid("didn't respond with a TokenRequest that has a token")
        }
        return try endpoint.jwt(in: token.utf8, audience: audience, for: requirements)
    }

    private static let advice = """
        this process doesn't run in a pod, or the pod has “automountServiceAccountToken: false”
        """

    private func url(namespace: String) throws(WorkloadIdentityError) -> URL {
        let host = try environment.value(of: "KUBERNETES_SERVICE_HOST", advice: Self.advice)
        let port = try environment.value(of: "KUBERNETES_SERVICE_PORT", advice: Self.advice)
        // A name with another character would lead to another resource.
        let isName = { (text: String) in
            !text.isEmpty && text.utf8.count <= 253 && text.utf8.first != UInt8(ascii: ".")
                && text.utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x2E
                }
        }
        guard isName(namespace), isName(serviceAccount) else {
            throw WorkloadIdentityError(
                .notConfigured,
                "the namespace in “\(folder)/namespace” or the name of the service account isn't a Kubernetes name"
            )
        }
        let authority = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let path = "/api/v1/namespaces/\(namespace)/serviceaccounts/\(serviceAccount)/token"
        guard UInt16(port) != nil, let url = URL(string: "https://\(authority):\(port)\(path)"),
            HTTPOrigin(url) != nil, url.path == path, url.user == nil, url.query == nil, url.fragment == nil
        else {
            throw WorkloadIdentityError(
                .insecureEndpoint,
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT aren't the address of an API server"
            )
        }
        return url
    }

    private func namespace() async throws -> String {
        try await file("namespace", form: .opaque).token().value.expose { $0 }
    }

    private func file(_ name: String, form: PlatformToken.Form) -> FileTokenSource {
        FileTokenSource(path: "\(folder)/\(name)", form: form, missing: Self.advice, environment)
    }

    private func transport() throws(WorkloadIdentityError) -> (any HTTPTransport)? {
        guard environment.transport == nil else { return nil }
        do {
            var configuration = WorkloadEnvironment.directConfiguration
            configuration.tls = TLSConfiguration(trustRoots: try .file("\(folder)/ca.crt"))
            return try CurlTransport(configuration: configuration)
        } catch {
            throw WorkloadIdentityError(
                .notConfigured,
                "the certificates of the API server in “\(folder)/ca.crt” can't be used; \(Self.advice)",
                cause: error
            )
        }
    }
}
