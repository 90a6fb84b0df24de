public import Foundation
public import Networking
public import OAuth2
import TokenGeneration

/// A token store in the secrets of a Kubernetes namespace, which any number of pods share.
///
/// ```swift
/// let store = try KubernetesTokenStore(namespace, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Each record is a `Secret` of the type `Opaque`, named by a digest, which Kubernetes gets
/// encrypted. Writes and removals have the `resourceVersion` that they replace. A refresh is two
/// writes and at most one read.
///
/// **Permissions.** The service account needs a role with `get`, `create`, `update` and `delete` on
/// secrets, which applies to all secrets of the namespace. Use a namespace for the records alone.
///
/// **Limits.** A secret holds 1 MiB. The API server limits the rate of requests: the store waits
/// once, for the time in `Retry-After` if that isn't longer than the timeout.
///
/// Hosts that wait for a change poll. The store doesn't watch, because that needs the right to list
/// the namespace's secrets. It replaces labels and annotations of a record, can't write to an
/// immutable secret, and can't remove one with finalizers. After a restoration of the cluster's
/// etcd, remove all records and sign in again. The store is tested with a double that follows the
/// documentation of Kubernetes, not with a cluster.
public typealias KubernetesTokenStore = SealedTokenStore<KubernetesNamespace>

extension SealedTokenStore where Place == KubernetesNamespace {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - namespace: The namespace.
    ///   - prefix: The prefix of the secrets' names: lowercase letters, digits, `-` and `.`. The
    ///     default is `token-`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the prefix is invalid.
    public init(
        _ namespace: KubernetesNamespace,
        prefix: String = "token-",
        keys: RecordKeys
    ) throws(OAuth2Error) {
        // A digest follows, so the prefix may end with a separator.
        guard KubernetesNamespace.isName("\(prefix)0", separators: ["."]), prefix.utf8.count <= 128 else {
            throw OAuth2Error(
                .storeFailed,
                "the prefix of a Kubernetes store must be lowercase letters, digits, - and ., and start with one of "
                    + "the first two"
            )
        }
        self.init(
            KubernetesStorage(service: namespace.service, namespace: namespace.name, prefix: prefix),
            keys: keys,
            timeSource: namespace.service.timeSource
        )
    }
}

/// A namespace of a Kubernetes cluster, reached by the cluster's API server.
///
/// ```swift
/// let namespace = try KubernetesNamespace()   // in a pod
/// ```
///
/// Each request is sent once. If its outcome is unknown, the caller reads what has become of it.
/// Only a request that the server rejects with 429 is repeated, once, after the time in
/// `Retry-After` or up to a second.
public struct KubernetesNamespace: Sendable {
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
            serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
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
                    + "a quota may also be used up"
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
    }

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

    /// A DNS label, or several with the separators between them.
    static func isName(_ text: String, separators: Set<Character>) -> Bool {
        text.split(omittingEmptySubsequences: false, whereSeparator: separators.contains).allSatisfy { label in
            let bytes = Array(label.utf8)
            return bytes.first != 0x2D && bytes.last != 0x2D && !bytes.isEmpty
                && bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        }
    }
}

/// [Secrets](https://kubernetes.io/docs/concepts/configuration/secret/) of a namespace.
struct KubernetesStorage: ConditionalStorage {
    let service: StoreService
    let namespace: String
    let prefix: String

    /// The limit of a secret's data.
    var maximumSize: Int { 1 << 20 }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        // Without a resource version, the answer is the current state, not that of a cache.
        let answer = try await service.answer("GET", path(name))
        if Self.isRefusal(answer, 404, "NotFound") { return nil }
        guard answer.status == 200 else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits), let version = version(of: name, in: json) else {
            throw Self.malformed(answer)
        }
        // Another program's secret counts as a damaged record, which only a sign-in replaces.
        let record = json["data"]?.object?["record"]?.string.flatMap { Data(base64Encoded: $0) }
        return (record.map(Array.init) ?? [], version)
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        var metadata: JSONObject = ["name": .string(prefix + name), "namespace": .string(namespace)]
        if let version {
            guard UInt64.version(version) != nil else { return nil }
            metadata["resourceVersion"] = .string(version)
        }
        let secret: JSONObject = [
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": .object(metadata),
            "type": "Opaque",
            "data": ["record": .string(Data(value).base64EncodedString())],
        ]
        let answer = try await service.answer(
            version == nil ? "POST" : "PUT",
            version == nil ? path : path(name),
            json: secret
        )
        if version == nil, Self.isRefusal(answer, 409, "AlreadyExists") { return nil }
        if version != nil, Self.isRefusal(answer, 409, "Conflict") || Self.isRefusal(answer, 404, "NotFound") {
            return nil
        }
        guard [200, 201].contains(answer.status) else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits), let next = self.version(of: name, in: json), next != version else {
            throw Self.malformed(answer)
        }
        return next
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        guard UInt64.version(version) != nil else { return false }
        let options: JSONObject = [
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": ["resourceVersion": .string(version)],
        ]
        let answer = try await service.answer("DELETE", path(name), json: options)
        if Self.isRefusal(answer, 409, "Conflict") || Self.isRefusal(answer, 404, "NotFound") { return false }
        guard [200, 202].contains(answer.status) else { throw Self.rejected(answer) }
        guard let json = answer.json(Self.limits) else { throw Self.malformed(answer) }
        if json["kind"] == "Status", json["status"] == "Success" { return true }
        throw answer.unexpected("Kubernetes marked a record for removal, but a finalizer may keep it")
    }

    private var path: String { "api/v1/namespaces/\(namespace)/secrets" }

    private func path(_ name: String) -> String { "\(path)/\(prefix)\(name)" }

    // MARK: Answers

    /// A secret of the largest size, in base64, is above the limit of other documents.
    private static let limits: JSONLimits = {
        var limits = JSONLimits.document
        limits.size = StoreService.maximumResponseSize
        return limits
    }()

    /// `nil` if the answer is another object.
    private func version(of name: String, in json: JSONObject) -> String? {
        guard json["kind"] == "Secret", let metadata = json["metadata"]?.object,
            metadata["name"] == .string(prefix + name), let version = metadata["resourceVersion"]?.string,
            UInt64.version(version) != nil
        else { return nil }
        return version
    }

    /// Absent namespaces and conflicts in quotas have the same status codes and reasons, but
    /// another kind.
    private static func isRefusal(_ answer: StoreService.Answer, _ status: Int, _ reason: String) -> Bool {
        guard answer.status == status, let json = answer.json(Self.limits) else { return false }
        return json["kind"] == "Status" && json["reason"] == .string(reason)
            && json["details"]?.object?["kind"] == "secrets"
    }

    private static func malformed(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.unexpected("the response isn't that of a Kubernetes API server; check its URL")
    }

    private static func rejected(_ answer: StoreService.Answer) -> OAuth2Error {
        switch answer.status {
        case 409:
            answer.unexpected("Kubernetes reports a conflict of another object, such as a quota")
        case 404:
            answer.rejected("Kubernetes has no such namespace, or the URL isn't that of an API server")
        default:
            answer.rejected(
                "Kubernetes rejected the request; check the size of the record, and for a secret that is immutable or has "
                    + "another type"
            )
        }
    }
}
