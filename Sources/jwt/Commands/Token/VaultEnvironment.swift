import Foundation
import Networking
import OAuth2
import WorkloadIdentity

/// The variables with which Vault's own command finds its server.
struct VaultEnvironment {
    static let address = "VAULT_ADDR"

    private let server: URL
    private let namespace: String?
    private let environment: WorkloadEnvironment

    /// - Throws: ``CommandFailure`` if the address is missing, or the file with the server's roots
    ///   is unusable.
    init() throws(CommandFailure) {
        guard let server = try EnvironmentVariable.text(of: Self.address).flatMap(URL.init(string:)) else {
            throw CommandFailure(.failed, "\(Self.address) isn't a URL; set it to the address of the Vault server")
        }
        self.server = server
        namespace = try EnvironmentVariable.text(of: "VAULT_NAMESPACE")
        guard let roots = try EnvironmentVariable.text(of: "VAULT_CACERT") else {
            environment = WorkloadEnvironment()
            return
        }
        let configuration = CurlTransport.Configuration(
            proxy: .none,
            tls: TLSConfiguration(trustRoots: try RootsOption.roots(InputFile(path: roots)))
        )
        environment = try CommandFailure.reporting {
            WorkloadEnvironment(transport: try CurlTransport(configuration: configuration))
        }
    }

    /// Returns a source of client tokens.
    ///
    /// - Throws: ``CommandFailure`` if the address or a name is invalid.
    func source(role: String, mount: String, jwt: any TokenSource) throws(CommandFailure) -> VaultLoginSource {
        try CommandFailure.reporting {
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
}
