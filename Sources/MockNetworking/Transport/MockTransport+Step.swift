public import Foundation
public import Networking

extension MockTransport {
    /// One answer of a script.
    public struct Step: Sendable {
        enum Answer: Sendable {
            case response(HTTPTransportResponse)
            case failure(any Error)
            case handler(Handler)
            case never
        }

        enum Pause: Sendable {
            case delay(Duration)
            case gate(ResponseGate)
        }

        let answer: Answer
        var pauses: [Pause] = []

        private init(_ answer: Answer) {
            self.answer = answer
        }

        /// Answers with a response.
        ///
        /// - Parameter response: The response.
        /// - Returns: The step.
        public static func response(_ response: HTTPTransportResponse) -> Self {
            Self(.response(response))
        }

        /// Answers with a response of these parts.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields, in order.
        ///   - body: The body.
        /// - Returns: The step.
        public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> Self {
            .response(HTTPTransportResponse(status: status, headers: headers, body: body))
        }

        /// Answers with JSON text.
        ///
        /// - Parameters:
        ///   - text: The JSON text, as it is.
        ///   - status: The status code.
        ///   - headers: More header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("application/json"), body: Data(text.utf8))
        }

        /// Answers with UTF-8 text.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - status: The status code.
        ///   - headers: More header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("text/plain; charset=utf-8"), body: Data(text.utf8))
        }

        /// Fails.
        ///
        /// - Parameter error: The error; one that isn't a `NetworkError` becomes the cause of one.
        /// - Returns: The step.
        public static func failure(_ error: any Error) -> Self {
            Self(.failure(error))
        }

        /// Answers by a closure.
        ///
        /// - Parameter handler: The closure.
        /// - Returns: The step.
        public static func handler(_ handler: @escaping Handler) -> Self {
            Self(.handler(handler))
        }

        /// Doesn't answer until the deadline, or ever.
        public static var never: Self { Self(.never) }

        /// Waits before the answer, by the transport's source of time.
        ///
        /// - Parameter duration: How long.
        /// - Returns: The step that waits.
        public func delayed(by duration: Duration) -> Self {
            pausing(.delay(duration))
        }

        /// Waits at a gate before the answer.
        ///
        /// - Parameter gate: The gate that a test opens.
        /// - Returns: The step that waits.
        public func gated(by gate: ResponseGate) -> Self {
            pausing(.gate(gate))
        }

        private func pausing(_ pause: Pause) -> Self {
            var copy = self
            copy.pauses.append(pause)
            return copy
        }
    }
}
