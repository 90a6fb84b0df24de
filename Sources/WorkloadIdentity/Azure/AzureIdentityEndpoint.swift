import Foundation
import Networking
import OAuth2
import TokenGeneration

/// The endpoint for managed identities on this machine.
enum AzureIdentityEndpoint: Sendable {
    case appService(address: String, header: Secret)
    case arc(address: String)
    /// The instance metadata service of a virtual machine.
    case imds

    private static let imdsAddress = "http://169.254.169.254/metadata/identity/oauth2/token"

    /// Selects the endpoint by the variables.
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

    /// Returns the request's URL.
    func url(
        resource: String,
        _ identity: AzureManagedIdentitySource.Identity
    ) throws(WorkloadIdentityError) -> URL {
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

    /// Returns the endpoint with its rules for retries and its errors.
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
