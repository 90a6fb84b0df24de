import Foundation
import Networking
import OAuth2
import WorkloadIdentity

/// The variables with which Vault's own command finds its server.
enum VaultEnvironment {
    static let address = "VAULT_ADDR"

    /// Returns a source of client tokens.
    static func source(
        role: String,
        mount: String,
        jwt: any TokenSource
    ) throws(CommandFailure) -> VaultLoginSource {
        guard let server = try EnvironmentVariable.text(of: address).flatMap(URL.init(string:)) else {
            throw CommandFailure(.failed, "\(address) isn't a URL; set it to the address of the Vault server")
        }
        let namespace = try EnvironmentVariable.text(of: "VAULT_NAMESPACE")
        let environment = try environment()
        return try CommandFailure.reporting {
            try VaultLoginSource(
                server: server,
                role: role,
                jwt: jwt,
                mount: mount,
                namespace: namespace,
                environment: environment
            )
        }
    }

    private static func environment() throws(CommandFailure) -> WorkloadEnvironment {
        guard let roots = try EnvironmentVariable.text(of: "VAULT_CACERT") else { return WorkloadEnvironment() }
        let tls = TLSConfiguration(trustRoots: try RootsOption.roots(InputFile(path: roots)))
        return try CommandFailure.reporting {
            WorkloadEnvironment(transport: try CurlTransport(configuration: .init(proxy: .none, tls: tls)))
        }
    }
}
