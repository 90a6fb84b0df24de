import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// A JSON document at an https URL, or an http URL on this machine.
struct WebDocument {
    private static let sizeLimit = 1 << 20

    let url: URL
    /// The name of the document in messages.
    let name: String

    /// Creates a document, or returns `nil` for a URL of another kind.
    init?(_ text: String) {
        guard let url = URL(string: text), let origin = HTTPOrigin(url),
            origin.scheme == "https" || origin.isLoopback, url.user == nil, url.password == nil
        else { return nil }
        self.url = url
        // Remove the query, which may contain a secret.
        name = text.prefix { $0 != "?" && $0 != "#" }.description
    }

    /// Returns whether this document may refer to another document.
    ///
    /// A remote server can't direct the command to a server on this machine, and so never to a
    /// server without TLS.
    func canName(_ other: WebDocument) -> Bool {
        HTTPOrigin(url)?.isLoopback == true || HTTPOrigin(other.url)?.isLoopback == false
    }

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
                // The default timeout of a URLRequest would cut off a longer one.
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
            throw CommandFailure(.failed, "\(name): \(error.message)\(error.trustAdvice)", cause: error)
        } catch let error as ServerError {
            throw CommandFailure(.failed, "\(name): the server responded with \(error.errorCode)", cause: error)
        } catch let error as AsynchronousWork.Unavailable {
            throw CommandFailure(.failed, "\(name): \(error)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(name): can't be fetched", cause: error)
        }
    }
}
