import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// A JSON document that is fetched by https, or by http on this machine, such as a key set.
struct WebDocument {
    /// More than any key set has.
    private static let sizeLimit = 1 << 20

    let url: URL
    /// How the document is called in messages.
    let name: String

    /// - Returns: `nil` if the text is neither an https URL with a host nor an http URL of this machine.
    init?(_ text: String) {
        guard let url = URL(string: text), let origin = HTTPOrigin(url),
            origin.scheme == "https" || origin.isLoopback, url.user == nil, url.password == nil
        else { return nil }
        self.url = url
        // A query may have a secret in it.
        name = text.prefix { $0 != "?" && $0 != "#" }.description
    }

    /// Returns whether this document may say where another one is.
    ///
    /// A server elsewhere can't send the command to a server on this machine, and so never to one without TLS.
    func canName(_ other: WebDocument) -> Bool {
        HTTPOrigin(url)?.isLoopback == true || HTTPOrigin(other.url)?.isLoopback == false
    }

    /// Fetches the document.
    ///
    /// - Parameters:
    ///   - roots: Under which roots its server is trusted.
    ///   - timeout: The longest time it may take.
    /// - Returns: Its octets.
    /// - Throws: ``CommandFailure`` that names it.
    func fetch(roots: TrustRoots, timeout: Duration) throws(CommandFailure) -> Data {
        do {
            let url = url
            return try AsynchronousWork.result {
                let transport = try CurlTransport(
                    configuration: CurlTransport.Configuration(tls: TLSConfiguration(trustRoots: roots))
                )
                let client = NetworkClient(
                    transport: transport,
                    options: NetworkClient.Options(
                        timeout: timeout,
                        maximumBodySize: Self.sizeLimit,
                        redirects: .never
                    )
                )
                // A request has a limit of its own, which would cut a longer wait short.
                var request = URLRequest(url: url, timeoutInterval: timeout / .seconds(1))
                request.setValue("application/json, application/jwk-set+json", forHTTPHeaderField: "Accept")
                do {
                    let data = try await client.makeRequest(request)
                    await transport.close()
                    return data
                } catch {
                    await transport.close()
                    throw error
                }
            }
        } catch let error as NetworkError {
            let advice = error.tlsFailure == .untrustedChain ? "; to name its root: --roots FILE" : ""
            throw CommandFailure(.failed, "\(name): \(error.message)\(advice)", cause: error)
        } catch let error as ServerError {
            throw CommandFailure(.failed, "\(name): the server answered \(error.errorCode)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(name): cannot be fetched", cause: error)
        }
    }
}
