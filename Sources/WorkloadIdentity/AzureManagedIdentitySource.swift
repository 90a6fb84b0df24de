import Foundation
import FoundationNetworking
import Networking
public import OAuth2
import TokenGeneration

/// A token source for a managed identity of Azure
/// ([Microsoft](https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/)).
///
/// ```swift
/// let source = CachedTokenSource(
///     AzureManagedIdentitySource(resource: "https://vault.azure.net")
/// )
/// ```
///
/// The variables select the endpoint, and the source never tries another one:
///
/// 1. App Service, Functions and Container Apps: `IDENTITY_ENDPOINT` and `IDENTITY_HEADER`.
/// 2. A server with Azure Arc: `IDENTITY_ENDPOINT` and `IMDS_ENDPOINT`.
/// 3. A virtual machine or scale set: none of them.
///
/// The tokens are access tokens for the resource. Each call sends a request, and the endpoint
/// limits their number, so wrap the source in a `CachedTokenSource`.
public struct AzureManagedIdentitySource: TokenSource {
    /// A managed identity of the machine.
    public struct Identity: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case clientID, objectID, resourceID
        }

        let kind: Kind?
        let value: String

        /// The identity that Azure created with the machine.
        public static let systemAssigned = Self(kind: nil, value: "")

        /// Returns the user-assigned identity with a client ID.
        ///
        /// - Parameter value: The client ID.
        /// - Returns: The identity.
        public static func clientID(_ value: String) -> Self { Self(kind: .clientID, value: value) }

        /// Returns the user-assigned identity with an object ID, also called principal ID.
        ///
        /// - Parameter value: The object ID.
        /// - Returns: The identity.
        public static func objectID(_ value: String) -> Self { Self(kind: .objectID, value: value) }

        /// Returns the user-assigned identity with a resource ID.
        ///
        /// - Parameter value: The resource ID, which begins with `/subscriptions/`.
        /// - Returns: The identity.
        public static func resourceID(_ value: String) -> Self { Self(kind: .resourceID, value: value) }
    }

    private let resource: String
    private let identity: Identity
    private let environment: WorkloadEnvironment
    private let arcKeys: String

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - resource: The URI or ID of the resource. A scope that ends with `/.default` names the
    ///     same resource.
    ///   - identity: The identity. The default is the system-assigned one.
    ///   - environment: The variables, clocks and network.
    public init(
        resource: String,
        identity: Identity = .systemAssigned,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.init(resource: resource, identity: identity, environment, arcKeys: AzureArcKey.folder)
    }

    init(resource: String, identity: Identity, _ environment: WorkloadEnvironment, arcKeys: String) {
        let suffix = "/.default"
        self.resource = resource.hasSuffix(suffix) ? String(resource.dropLast(suffix.count)) : resource
        self.identity = identity
        self.environment = environment
        self.arcKeys = arcKeys
    }

    /// Requests a token, which has the expiry that the endpoint states.
    ///
    /// On a virtual machine whose endpoint is being updated (status 410), the source repeats a
    /// request for 70 seconds.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured` if the machine doesn't have the identity, or
    ///   `ambiguousIdentity` if it has several and none is named; with Azure Arc also
    ///   `unreadableFile` or `insecureFile`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let kind = try AzureIdentityEndpoint(environment)
        var request = URLRequest(url: try kind.url(resource: resource, identity))
        for (name, value) in try kind.fields { request.setValue(value, forHTTPHeaderField: name) }
        let endpoint = kind.platformEndpoint(environment, identity)
        let requested = environment.timeSource.now()
        if case .arc = kind {
            let challenge = try await endpoint.response(to: request, until: requirements.deadline, expecting: [401])
            let key = try await AzureArcKey.read(for: challenge, folder: arcKeys, endpoint)
            request.setValue(key.expose { "Basic \($0)" }, forHTTPHeaderField: "Authorization")
        }
        let response = try await endpoint.response(to: request, until: requirements.deadline)
        return try endpoint.accessToken(
            in: response,
            .init(expiry: "expires_on"),
            requested: requested,
            for: requirements
        )
    }
}

enum AzureIdentityEndpoint: Sendable {
    case appService(address: String, header: Secret)
    case arc(address: String)
    case imds

    private static let imdsAddress = "http://169.254.169.254/metadata/identity/oauth2/token"

    init(_ environment: WorkloadEnvironment) throws(WorkloadIdentityError) {
        let value = { (name: String) in environment.variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        guard let address = value("IDENTITY_ENDPOINT") else {
            guard value("MSI_ENDPOINT") == nil else {
                throw Self.unsupported("MSI_ENDPOINT, of Cloud Shell, Machine Learning or an old App Service,")
            }
            self = .imds
            return
        }
        if let header = value("IDENTITY_HEADER") {
            guard value("IDENTITY_SERVER_THUMBPRINT") == nil else {
                throw Self.unsupported("IDENTITY_SERVER_THUMBPRINT, of Service Fabric,")
            }
            self = .appService(address: address, header: Secret(header))
        } else if value("IMDS_ENDPOINT") != nil {
            self = .arc(address: address)
        } else {
            throw WorkloadIdentityError(
                .notConfigured,
                """
                IDENTITY_ENDPOINT is set without IDENTITY_HEADER (App Service) or IMDS_ENDPOINT (Azure Arc); set the \
                variable, or unset IDENTITY_ENDPOINT on a virtual machine
                """
            )
        }
    }

    private static func unsupported(_ what: String) -> WorkloadIdentityError {
        WorkloadIdentityError(
            .notConfigured,
            "\(what) isn't supported; use App Service, Azure Arc, a virtual machine or a federated credential"
        )
    }

    /// The header fields that keep pages and redirects from reaching the endpoint.
    var fields: [(name: String, value: String)] {
        get throws(WorkloadIdentityError) {
            guard case .appService(_, let header) = self else { return [("Metadata", "true")] }
            let value = header.expose { $0 }
            guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw WorkloadIdentityError(
                    .notConfigured,
                    "IDENTITY_HEADER isn't the value that App Service sets; don't change it"
                )
            }
            return [("X-IDENTITY-HEADER", value)]
        }
    }

    func url(resource: String, _ identity: AzureManagedIdentitySource.Identity) throws(WorkloadIdentityError) -> URL {
        let (address, version): (String, String) =
            switch self {
            case .appService(let address, _): (address, "2019-08-01")
            case .arc(let address): (address, "2019-11-01")
            case .imds: (Self.imdsAddress, "2018-02-01")
            }
        var parameters = [(name: "api-version", value: version), (name: "resource", value: resource)]
        if let kind = identity.kind { parameters.append((try name(of: kind), identity.value)) }
        guard let url = PlatformAddress.url(address, parameters), PlatformAddress.isConfined(url) else {
            throw WorkloadIdentityError(
                .insecureEndpoint,
                """
                IDENTITY_ENDPOINT is neither an https URL nor an address of this machine, so nothing is sent; check \
                what sets it
                """
            )
        }
        return url
    }

    private func name(of kind: AzureManagedIdentitySource.Identity.Kind) throws(WorkloadIdentityError) -> String {
        switch (self, kind) {
        case (.arc, _):
            throw WorkloadIdentityError(
                .notConfigured,
                "a server with Azure Arc has only its system-assigned identity; pass .systemAssigned"
            )
        case (_, .clientID): "client_id"
        case (.appService, .objectID): "principal_id"
        case (.appService, .resourceID): "mi_res_id"
        case (.imds, .objectID): "object_id"
        case (.imds, .resourceID): "msi_res_id"
        }
    }

    func platformEndpoint(
        _ environment: WorkloadEnvironment,
        _ identity: AzureManagedIdentitySource.Identity
    ) -> PlatformEndpoint {
        var retries = PlatformRetries()
        let name: String
        switch self {
        case .appService: name = "the endpoint in IDENTITY_ENDPOINT"
        case .arc: name = "Azure Arc's agent at the address in IDENTITY_ENDPOINT"
        case .imds:
            name = "Azure's instance metadata service at 169.254.169.254"
            // Its identities may appear some seconds after the machine has started.
            retries.transientStatuses = [404]
            retries.limit = 3
            retries.longestDelay = .seconds(4)
            retries.whileGone = (.seconds(10), 7)
            retries.timeout = .seconds(90)
        }
        return PlatformEndpoint(name: name, environment: environment, retries: retries) { error in
            explanation(error, name, identity)
        }
    }

    private func explanation(
        _ error: ServerError,
        _ name: String,
        _ identity: AzureManagedIdentitySource.Identity
    ) -> WorkloadIdentityError? {
        guard error.errorCode == 400 else { return nil }
        let body = error.response.flatMap { try? JSONObject(parsing: $0) }
        let text = (body?["error_description"]?.string ?? body?["message"]?.string ?? "").asciiOnly.lowercased()
        let group = if case .appService = self { "webapp" } else { "vm" }
        let advice =
            identity.kind == nil
            ? "create a system-assigned identity with “az \(group) identity assign”"
            : "add the named identity with “az \(group) identity assign --identities”"
        let (code, message): (WorkloadIdentityError.Code, String) =
            if text.contains("multiple user assigned identities") {
                (
                    .ambiguousIdentity,
                    """
                    the machine has several user-assigned identities, and none is named; pass .clientID(…), which “az \
                    identity show” prints
                    """
                )
            } else if text.contains("identity not found") || text.contains("managed identity found") {
                (.notConfigured, "the machine doesn't have the identity; \(advice)")
            } else {
                (
                    .platformRejected,
                    "\(name) rejects the request with status 400; check the resource's URI, or \(advice)"
                )
            }
        return WorkloadIdentityError(request: code, message, status: 400)
    }
}

/// The key that proves to Azure Arc's agent that a process may read the agent's files.
enum AzureArcKey {
    /// A challenge that names a file elsewhere would disclose that file.
    static let folder = "/var/opt/azcmagent/tokens"
    private static let maximumSize = 4_096
    private static let advice = "add the process's user to the group “himds”"

    static func read(for challenge: HTTPResponse, folder: String, _ endpoint: PlatformEndpoint) async throws -> Secret {
        let path = try path(in: challenge, folder, endpoint)
        let content = try await BlockingWork.value { try PlatformFile.read(path, missing: advice) }
        var key = content[...]
        while let last = key.last, [0x0A, 0x0D, 0x20].contains(last) { key.removeLast() }
        guard content.count <= maximumSize else {
            throw failure(.tooLarge, path, "is larger than \(maximumSize) bytes")
        }
        guard !key.isEmpty, key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(.malformedToken, path, "doesn't contain a key")
        }
        return Secret(String(decoding: key, as: UTF8.self))
    }

    /// Returns the path in `Basic realm=<path>`, in which the agent doesn't quote the path.
    private static func path(
        in challenge: HTTPResponse,
        _ folder: String,
        _ endpoint: PlatformEndpoint
    ) throws(WorkloadIdentityError) -> String {
        let challenges = challenge.headers.values(for: "WWW-Authenticate")
        let start = "basic realm="
        guard let text = challenges.first, challenges.count == 1, text.utf8.allSatisfy({ $0 < 0x80 }),
            text.lowercased().hasPrefix(start)
        else {
            throw endpoint.invalid("didn't name the file of its key; check what answers at its address")
        }
        let path = text.dropFirst(start.count)
        let name = path.dropFirst(folder.count + 1)
        guard path.hasPrefix(folder + "/"), name.hasSuffix(".key"), name.first != ".",
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") })
        else {
            throw endpoint.invalid(
                "asks for a file outside \(folder), so nothing is sent; check what answers at its address"
            )
        }
        return String(path)
    }

    private static func failure(
        _ code: WorkloadIdentityError.Code,
        _ path: String,
        _ problem: String
    ) -> WorkloadIdentityError {
        WorkloadIdentityError(code, .read, "“\(path)” \(problem); check Azure Arc's agent")
    }
}
