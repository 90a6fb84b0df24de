public import Foundation
public import Networking
public import OAuth2

/// A namespace of a Kubernetes cluster, reached by the cluster's API server.
///
/// ```swift
/// let namespace = try KubernetesNamespace()   // in a pod
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
/// Only a request that the server rejects with 429 is repeated, after the time in `Retry-After`.
public struct KubernetesNamespace: Sendable {
    /// The folder of a pod's service account.
    private static let serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

    let service: StoreService
    let name: String

    /// Creates the namespace of the pod in which the process runs.
    ///
    /// The address of the API server comes from the environment. The token, the roots of the
    /// server's certificate and the namespace are files of the pod's service account. The token is
    /// read before each request, because Kubernetes replaces it, and the other files once.
    ///
    /// - Parameters:
    ///   - name: Another namespace. The default is `nil`, for the pod's own.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the process doesn't run in a pod with
    ///   a service account, or the name is invalid.
    public init(
        _ name: String? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        try self.init(
            inCluster: name,
            environment: ProcessInfo.processInfo.environment,
            serviceAccount: Self.serviceAccount,
            timeout: timeout,
            timeSource: timeSource
        )
    }

    /// Creates a namespace.
    ///
    /// - Parameters:
    ///   - name: The name of the namespace.
    ///   - server: The URL of the API server. Plain HTTP is accepted only for this machine.
    ///   - token: The bearer token. The default is `nil`, for a transport with a client
    ///     certificate.
    ///   - transport: The transport, for the roots of the cluster. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment, or if the
    ///   name is invalid.
    public init(
        _ name: String,
        server: URL,
        token: StoreCredential? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard Self.isName(name, separators: []), name.utf8.count <= 63 else {
            throw OAuth2Error(
                .storeFailed,
                "the name of a Kubernetes namespace must be lowercase letters, digits and -"
            )
        }
        self.name = name
        service = try StoreService(
            server,
            access: StoreService.Access(
                fields: ["Accept": "application/json"],
                credential: token.map { ("Authorization", "Bearer ", $0) },
                remedy: "the service account needs a role with get, create, update and delete on secrets; "
                    + "a quota may also be used up",
                isUnprocessedIfLimited: true
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }

    /// Creates the namespace of a pod from an environment and a folder.
    init(
        inCluster name: String?,
        environment: [String: String],
        serviceAccount: String,
        timeout: Duration,
        timeSource: TimeSource
    ) throws(OAuth2Error) {
        guard let host = environment["KUBERNETES_SERVICE_HOST"], !host.isEmpty,
            let port = environment["KUBERNETES_SERVICE_PORT"].flatMap(UInt16.init), port > 0,
            let server = URL(string: "https://\(host.contains(":") ? "[\(host)]" : host):\(port)")
        else {
            throw OAuth2Error(
                .storeFailed,
                "the process isn't in a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is missing or invalid"
            )
        }
        let transport: CurlTransport
        do {
            let roots = try TrustRoots.file("\(serviceAccount)/ca.crt")
            transport = try CurlTransport(configuration: .init(tls: TLSConfiguration(trustRoots: roots)))
        } catch {
            throw OAuth2Error(
                .storeFailed,
                "the certificates of the Kubernetes cluster in \(serviceAccount)/ca.crt can't be used; "
                    + "check that the pod mounts its service account's token",
                cause: error
            )
        }
        let token = StoreCredential.file("\(serviceAccount)/token")
        // A pod without a token fails now, not at the first refresh.
        _ = try token.read()
        let namespace: String
        if let name {
            namespace = name
        } else {
            namespace = try StoreCredential.text(of: "\(serviceAccount)/namespace", maximumSize: 256)
        }
        try self.init(
            namespace,
            server: server,
            token: token,
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }

    /// Returns a Boolean value that indicates whether a text is a DNS label, or several with the
    /// separators between them.
    static func isName(_ text: String, separators: Set<Character>) -> Bool {
        text.split(omittingEmptySubsequences: false, whereSeparator: separators.contains).allSatisfy { label in
            let bytes = Array(label.utf8)
            return bytes.first != 0x2D && bytes.last != 0x2D && !bytes.isEmpty
                && bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        }
    }
}
