import Dispatch
import Foundation
import FoundationNetworking

/// An exchange as the engine sees it; it never leaves the engine's queue.
final class URLSessionExchange {
    typealias Outcome = Result<HTTPTransportResponse, NetworkError>

    let submission: URLSessionSubmission
    /// The task while URLSession works on it; `nil` while the exchange waits in line.
    var task: URLSessionDataTask?
    /// What cuts the exchange off at its deadline.
    var timer: DispatchWorkItem?
    /// Whether a `Basic` challenge was refused: the cancellation that follows is then a 401 like any other.
    var hasRefusedChallenge = false
    private var continuation: CheckedContinuation<Outcome, Never>?
    private var response: HTTPURLResponse?
    private var body = Data()

    init(submission: URLSessionSubmission, continuation: CheckedContinuation<Outcome, Never>) {
        self.submission = submission
        self.continuation = continuation
    }

    /// Whether nobody waits for the outcome any more, although URLSession may still work.
    var hasEnded: Bool { continuation == nil }

    /// Reports the outcome, unless there was one.
    func end(_ outcome: Outcome) {
        timer?.cancel()
        timer = nil
        body = Data()
        continuation?.resume(returning: outcome)
        continuation = nil
    }

    func receive(_ response: URLResponse) {
        self.response = response as? HTTPURLResponse
    }

    /// Adds a part of the body; an error if there is more than the caller accepts.
    func receive(_ part: Data) -> NetworkError? {
        guard !hasEnded else { return nil }
        let limit = submission.limits.maximumBodySize
        guard body.count + part.count <= limit else {
            return NetworkError(
                .bodyTooLarge,
                "the response of \(submission.origin) has a body of more than \(limit) octets; "
                    + "accept a larger maximumBodySize or ask for less"
            )
        }
        body.append(part)
        return nil
    }

    /// What URLSession's last word means.
    func outcome(_ error: (any Error)?) -> Outcome {
        if let error, !(hasRefusedChallenge && response != nil && (error as? URLError)?.code == .cancelled) {
            return .failure(URLSessionFailure(error, origin: submission.origin).networkError)
        }
        guard let response else {
            return .failure(NetworkError(.invalidResponse, "\(submission.origin) did not answer in HTTP"))
        }
        return .success(
            HTTPTransportResponse(
                status: response.statusCode,
                version: "",
                headers: HTTPHeaders(fields(of: response)),
                body: body
            )
        )
    }

    private func fields(of response: HTTPURLResponse) -> [HTTPHeaders.Field] {
        var fields: [HTTPHeaders.Field] = []
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            fields.append(HTTPHeaders.Field(name: name, value: value))
        }
        let isEncoded = fields.contains {
            $0.name.equalsIgnoringASCIICase("Content-Encoding") && !$0.value.equalsIgnoringASCIICase("identity")
        }
        if isEncoded, !body.isEmpty {
            fields.removeAll {
                $0.name.equalsIgnoringASCIICase("Content-Encoding") || $0.name.equalsIgnoringASCIICase("Content-Length")
            }
        }
        return fields.sorted { $0.name < $1.name }
    }
}
