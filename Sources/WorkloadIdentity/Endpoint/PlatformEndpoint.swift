import Foundation
import FoundationNetworking
import Networking

/// An endpoint of the platform that issues tokens to the workloads on it.
///
/// Requests don't follow redirects, which would carry the workload's credential elsewhere.
struct PlatformEndpoint: Sendable {
    /// The endpoint's name in messages.
    let name: String
    let environment: WorkloadEnvironment
    /// The way to get the permission that a rejected request lacks.
    var permission = "check the workload's permissions"
    var retries = PlatformRetries()
    /// Returns the error for a response that says more than its status, or `nil`.
    var explanation: @Sendable (ServerError) -> WorkloadIdentityError? = { _ in nil }

    /// The origin of the endpoint's tokens in messages.
    var origin: String { "the response of \(name)" }

    /// Sends a request that may be repeated, and returns its response with an expected status.
    ///
    /// Without a transport, it uses the environment's. It throws ``WorkloadIdentityError`` with the
    /// code `platformUnavailable`, `platformRejected`, `invalidResponse` or `tooLarge`, or that of
    /// ``explanation``; `CancellationError` if the task is cancelled.
    func response(
        to request: URLRequest,
        until deadline: ContinuousClock.Instant?,
        on transport: (any HTTPTransport)? = nil,
        expecting statuses: Set<Int> = [200]
    ) async throws -> HTTPResponse {
        let timeLeft = deadline.map { $0 - environment.timeSource.now() } ?? retries.timeout
        do {
            let response = try await client(transport).response(
                for: request,
                options: RequestOptions(
                    redirects: .never,
                    timeout: min(timeLeft, retries.timeout),
                    maximumBodySize: 2 * PlatformToken.maximumSize
                )
            )
            guard statuses.contains(response.status) else {
                throw invalid("responded with the unexpected status \(response.status)")
            }
            return response
        } catch let error as ServerError {
            if statuses.contains(error.errorCode), let response = error.httpResponse { return response }
            if let explained = explanation(error) { throw explained }
            throw retries.isTransient(error.errorCode) ? unavailable(error.errorCode) : rejected(error.errorCode)
        } catch let error as NetworkError {
            switch error.code {
            case .bodyTooLarge:
                throw WorkloadIdentityError(request: .tooLarge, "\(name) responded with too much", cause: error)
            case .invalidResponse:
                throw invalid("didn't respond with HTTP", cause: error)
            case .tls:
                throw WorkloadIdentityError(
                    request: .insecureEndpoint,
                    "the TLS handshake with \(name) failed, so the credential wasn't sent",
                    cause: error
                )
            default:
                throw unavailable(nil, cause: error)
            }
        }
    }

    /// Returns an error for a response that the endpoint wouldn't send.
    func invalid(_ problem: String, cause: (any Error)? = nil) -> WorkloadIdentityError {
        WorkloadIdentityError(request: .invalidResponse, "\(name) \(problem)", cause: cause)
    }

    private func client(_ given: (any HTTPTransport)?) throws(NetworkError) -> NetworkClient {
        let transport = if let given { given } else { try environment.platformTransport() }
        return NetworkClient(
            transport: transport,
            interceptors: [retries.policy(environment)],
            options: .init(timeSource: environment.timeSource, retryBudget: nil)
        )
    }

    private func unavailable(_ status: Int?, cause: (any Error)? = nil) -> WorkloadIdentityError {
        WorkloadIdentityError(
            request: .platformUnavailable,
            status.map { "\(name) keeps failing with status \($0); try again later" }
                ?? "\(name) couldn't be reached or didn't respond in time; check the network of this machine",
            status: status,
            cause: cause
        )
    }

    private func rejected(_ status: Int) -> WorkloadIdentityError {
        WorkloadIdentityError(
            request: .platformRejected,
            (300..<400).contains(status)
                ? "\(name) redirects, which isn't followed because it would disclose the workload's credential"
                : "\(name) rejects the request with status \(status); \(permission)",
            status: status
        )
    }
}
