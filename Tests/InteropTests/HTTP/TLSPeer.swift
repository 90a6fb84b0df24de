import Foundation
import FoundationNetworking
import Networking
import Testing

/// The TLS servers that `Tests/Interop/run` started, with clients that trust their authorities.
enum TLSPeer {
    static func url(_ name: String, _ path: String) throws -> URL {
        try #require(URL(string: Interop.required("INTEROP_\(name)") + path))
    }

    /// Returns the path of a file from `Tests/Interop/certificates`.
    static func file(_ name: String) throws -> String {
        try Interop.required("INTEROP_FOLDER") + "/" + name
    }

    /// Returns the configuration of a client that trusts only one authority.
    static func trust(_ authority: String = "authority.pem") throws -> TLSConfiguration {
        TLSConfiguration(trustRoots: try .file(file(authority)))
    }

    /// Runs a test with a client, and then closes it.
    static func withClient<Result>(
        _ tls: TLSConfiguration,
        proxy: CurlTransport.ProxySelection = .none,
        _ change: (inout CurlTransport.Configuration) -> Void = { _ in },
        perform body: (NetworkClient) async throws -> Result
    ) async throws -> Result {
        var configuration = CurlTransport.Configuration(proxy: proxy, tls: tls)
        change(&configuration)
        let transport = try CurlTransport(configuration: configuration)
        do {
            let result = try await body(NetworkClient(transport: transport))
            await transport.close()
            return result
        } catch {
            await transport.close()
            throw error
        }
    }
}

extension NetworkClient {
    /// Returns the body of a response as text.
    func text(_ url: URL) async throws -> String {
        String(decoding: try await makeRequest(URLRequest(url: url)), as: UTF8.self)
    }
}
