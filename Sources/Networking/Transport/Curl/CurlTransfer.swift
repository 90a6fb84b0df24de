import Foundation

/// An exchange as the engine sees it; it never leaves the engine's thread.
final class CurlTransfer {
    let submission: CurlSubmission
    /// The handle while the transfer runs; `nil` while it waits in line.
    var handle: CurlHandle?
    /// What went wrong on our side, which libcurl only reports as an aborted transfer.
    private(set) var failure: NetworkError?
    private var head = ResponseHeadReader()
    private var body = Data()
    private var hasBegunBody = false
    private var requestCount = 0
    private var bodyPosition = 0

    init(submission: CurlSubmission) {
        self.submission = submission
    }

    var exchange: CurlExchange { submission.exchange }

    /// The response, if a whole one was received.
    func response() throws(NetworkError) -> HTTPTransportResponse {
        guard head.isComplete else {
            let origin = exchange.request.origin
            throw head.status == 101
                ? NetworkError(.invalidResponse, "\(origin) switched protocols without being asked")
                : NetworkError(
                    .connectionLost,
                    "\(origin) closed the connection before its response's header was whole"
                )
        }
        var fields = head.headers
        if hasBegunBody, isEncoded {
            fields.removeAll {
                $0.name.equalsIgnoringASCIICase("Content-Encoding") || $0.name.equalsIgnoringASCIICase("Content-Length")
            }
        }
        return HTTPTransportResponse(
            status: head.status,
            version: head.version,
            headers: HTTPHeaders(fields),
            body: body
        )
    }

    private var isEncoded: Bool {
        head.headers.contains {
            $0.name.equalsIgnoringASCIICase("Content-Encoding") && !$0.value.equalsIgnoringASCIICase("identity")
        }
    }

    private var declaredSize: Int? {
        head.headers.first { $0.name.equalsIgnoringASCIICase("Content-Length") }.flatMap { Int($0.value) }
    }
}

// What libcurl calls back. Each returns whether the transfer goes on.
extension CurlTransfer {
    func receive(headerLine: Span<UInt8>) -> Bool {
        do throws(NetworkError) {
            try head.read(line: headerLine)
            return true
        } catch {
            failure = NetworkError(error.code, "\(exchange.request.origin): \(error.message)")
            return false
        }
    }

    func receive(octets: UnsafeBufferPointer<UInt8>) -> Bool {
        let limit = exchange.limits.maximumBodySize
        let declared = hasBegunBody || isEncoded ? nil : declaredSize
        guard max(body.count + octets.count, declared ?? 0) <= limit else {
            failure = NetworkError(
                .bodyTooLarge,
                "the response of \(exchange.request.origin) has a body of more than \(limit) octets; "
                    + "accept a larger maximumBodySize or ask for less"
            )
            return false
        }
        if let declared { body.reserveCapacity(min(declared, 1 << 20)) }
        hasBegunBody = true
        unsafe body.append(octets)
        return true
    }

    /// Copies the next part of the request's body; returns how much.
    func copyBody(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let body = exchange.request.body
        let count = min(buffer.count, body.count - bodyPosition)
        let start = body.startIndex + bodyPosition
        let copied = unsafe body.copyBytes(to: buffer, from: start..<(start + count))
        bodyPosition += copied
        return copied
    }

    /// Moves to another position of the request's body, as for sending it again.
    func seekBody(to offset: Int64) -> Bool {
        guard let position = Int(exactly: offset), (0...exchange.request.body.count).contains(position) else {
            return false
        }
        bodyPosition = position
        return true
    }

    /// Decides about sending the request on a connection.
    ///
    /// libcurl sends a request again if a kept connection ends before the response begins. The peer may have
    /// acted on the first one, so that is only right for an idempotent method.
    func beginRequest() -> Bool {
        requestCount += 1
        guard requestCount > 1, !exchange.request.method.isIdempotent else { return true }
        failure = NetworkError(
            .connectionLost,
            "\(exchange.request.origin) closed the connection without a response; whether it acted on the request is unknown"
        )
        return false
    }
}
