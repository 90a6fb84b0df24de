import Dispatch
import Foundation
import FoundationNetworking

/// An exchange as the engine sees it; it never leaves the engine's queue.
final class URLSessionExchange {
    /// Who waits for the response.
    typealias Receiver = CheckedContinuation<Result<HTTPTransportResponse, NetworkError>, Never>

    let submission: URLSessionSubmission
    /// The task while URLSession works on it; `nil` while the exchange waits in line.
    var task: URLSessionDataTask?
    /// What looks whether the exchange takes too long.
    var alarm: DispatchWorkItem?
    var times: URLSessionTimes
    /// Whether a `Basic` challenge was refused: the cancellation that follows is then a 401 like any other.
    var hasRefusedChallenge = false
    /// Whether nobody waits for the outcome any more, although URLSession may still work.
    private(set) var hasEnded = false
    private var receiver: Receiver?
    /// Gives the exchange up, for a body that is received in parts; `nil` if the receiver gets the whole response.
    private var giveUp: (@Sendable () -> Void)?
    private var stream: URLSessionBody?
    private var response: HTTPURLResponse?
    private var body = Data()
    private var receivedCount = 0
    private var sentCount = 0

    init(submission: URLSessionSubmission, receiver: Receiver, givingUp giveUp: (@Sendable () -> Void)?) {
        self.submission = submission
        self.receiver = receiver
        self.giveUp = giveUp
        times = URLSessionTimes(limits: submission.limits, submitted: submission.submitted)
    }

    func start(_ task: URLSessionDataTask) {
        self.task = task
        times.start(at: .now)
        submission.observer?(.started)
    }

    /// Reports the outcome, unless there was one.
    func end(_ error: NetworkError?) {
        guard !hasEnded else { return }
        hasEnded = true
        alarm?.cancel()
        alarm = nil
        submission.observer?(.finished(metrics))
        receiver?.resume(returning: error.map(Result.failure) ?? wholeResponse)
        stream?.finish(error)
        (receiver, giveUp, stream, body) = (nil, nil, nil, Data())
    }

    /// Gives a receiver of parts the header, and from then on the body.
    private func deliverHead() {
        guard let receiver, let giveUp, let response else { return }
        let stream = URLSessionBody(givingUp: giveUp)
        (self.receiver, self.giveUp, self.stream) = (nil, nil, stream)
        receiver.resume(
            returning: .success(
                HTTPTransportResponse(
                    status: response.statusCode,
                    version: "",
                    headers: fields(of: response, hasBody: submission.request.httpMethod != "HEAD"),
                    stream: HTTPResponseBody(source: stream)
                )
            )
        )
    }

    /// Takes the header of the final response; interim ones are nobody's business
    /// ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    func receive(_ response: URLResponse?) {
        guard !hasEnded, self.response == nil, let response = response as? HTTPURLResponse, response.statusCode >= 200
        else { return }
        self.response = response
        times.noteReceived(at: .now)
        submission.observer?(.headReceived(status: response.statusCode))
        deliverHead()
    }

    /// Adds a part of the body; an error if there is more than the caller accepts.
    func receive(_ part: Data) -> NetworkError? {
        guard !hasEnded else { return nil }
        times.noteReceived(at: .now)
        guard !part.isEmpty else { return nil }
        let limit = submission.limits.maximumBodySize
        guard part.count <= limit - receivedCount else {
            return NetworkError(
                .bodyTooLarge,
                "the response of \(submission.origin) has a body of more than \(limit) octets; "
                    + "accept a larger maximumBodySize or ask for less"
            )
        }
        receivedCount += part.count
        if let stream { stream.append(part) } else { body.append(part) }
        submission.observer?(.bodyReceived(receivedCount))
        return nil
    }

    func noteSent(_ count: Int) {
        guard !hasEnded else { return }
        sentCount = count
        times.noteSent(at: .now)
        submission.observer?(.bodySent(count))
    }

    /// What URLSession's last word means; `nil` for success.
    func failure(_ error: (any Error)?) -> NetworkError? {
        if let error, !(hasRefusedChallenge && response != nil && (error as? URLError)?.code == .cancelled) {
            return URLSessionFailure(error, origin: submission.origin).networkError
        }
        return response == nil ? notHTTP : nil
    }

    private var notHTTP: NetworkError {
        NetworkError(.invalidResponse, "\(submission.origin) did not answer in HTTP")
    }

    private var wholeResponse: Result<HTTPTransportResponse, NetworkError> {
        guard let response else { return .failure(notHTTP) }
        return .success(
            HTTPTransportResponse(
                status: response.statusCode,
                version: "",
                headers: fields(of: response, hasBody: !body.isEmpty),
                body: body
            )
        )
    }

    private var metrics: HTTPTransportMetrics {
        var metrics = HTTPTransportMetrics(totalTime: .now - times.submitted)
        metrics.queueTime = times.started.map { $0 - times.submitted }
        metrics.firstByteTime = times.answered.map { $0 - times.submitted }
        metrics.bodyBytesSent = sentCount
        metrics.bodyBytesReceived = receivedCount
        return metrics
    }

    private func fields(of response: HTTPURLResponse, hasBody: Bool) -> HTTPHeaders {
        var fields: [HTTPHeaders.Field] = []
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            // URLSession leaves the whitespace around a value in it (RFC 9110 §5.5).
            fields.append(HTTPHeaders.Field(name: name, value: String(value[...].trimmingHTTPWhitespace)))
        }
        let isEncoded = fields.contains {
            $0.name.equalsIgnoringASCIICase("Content-Encoding") && !$0.value.equalsIgnoringASCIICase("identity")
        }
        if isEncoded, hasBody {
            fields.removeAll {
                $0.name.equalsIgnoringASCIICase("Content-Encoding") || $0.name.equalsIgnoringASCIICase("Content-Length")
            }
        }
        return HTTPHeaders(fields.sorted { $0.name < $1.name })
    }
}
