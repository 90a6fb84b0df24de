internal import CProcess
import Dispatch
import Foundation
import FoundationNetworking
import Networking
import Synchronization
import TokenGeneration

struct WebDocument {
    private static let sizeLimit = 1 << 20

    let url: URL
    let name: String

    init?(_ text: String) {
        guard let url = URL(string: text), let origin = HTTPOrigin(url),
            origin.scheme == "https" || origin.isLoopback, url.user == nil, url.password == nil
        else { return nil }
        self.url = url
        // Remove the query, which may contain a secret.
        name = text.prefix { $0 != "?" && $0 != "#" }.description
    }

    /// Returns whether a document may name another: a remote server can't direct the command to
    /// this machine, and so never to a server without TLS.
    func canName(_ other: WebDocument) -> Bool {
        HTTPOrigin(url)?.isLoopback == true || HTTPOrigin(other.url)?.isLoopback == false
    }

    func fetch(roots: TrustRoots, timeout: Duration) throws(CommandFailure) -> Data {
        let url = url
        return try CommandFailure.reporting(at: name, advice: { ($0 as? NetworkError)?.trustAdvice ?? "" }) {
            try AsynchronousWork.result {
                let transport = try CurlTransport(
                    configuration: CurlTransport.Configuration(tls: TLSConfiguration(trustRoots: roots))
                )
                let client = NetworkClient(
                    transport: transport,
                    options: NetworkClient.Options(timeout: timeout, maximumBodySize: Self.sizeLimit, redirects: .never)
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
        }
    }
}

enum RootsOption {
    static let option = Option<InputFile>(
        "roots",
        "The trusted root certificates, instead of the system's, in PEM or DER"
    )

    static func roots(_ file: InputFile?) throws(CommandFailure) -> TrustRoots {
        guard let file else { return .system }
        let bytes = try file.read().bytes
        return try CommandFailure.reporting(at: file.name) { try ServerCertificates.roots(bytes) }
    }
}

enum AsynchronousWork {
    struct Unavailable: DescribedError {
        let message = "requests need /proc, which isn't mounted; mount it as container engines do"
    }

    static func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        guard cprocess_can_run_tasks() else { throw Unavailable() }
        let outcome = Outcome<Value>()
        let work = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.result.withLock { $0 = result }
        }
        // A task frees its values before others learn that it has ended. If it signaled the end
        // itself, or had a result, the process could exit before they are freed.
        Task {
            await work.value
            outcome.semaphore.signal()
        }
        while true {
            outcome.semaphore.wait()
            if let result = outcome.result.withLock({ $0.take() }) { return try result.get() }
        }
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
    }
}
