public import Foundation
public import Networking

extension MockTransport {
    /// A scripted response.
    public struct Step: Sendable {
        enum Answer: Sendable {
            case response(HTTPTransportResponse)
            case failure(any Error)
            case handler(Handler)
            case never
        }

        let answer: Answer
        var pauses: [ResponsePause] = []

        /// Creates a step with a response.
        ///
        /// - Parameter response: The response.
        /// - Returns: The step.
        public static func response(_ response: HTTPTransportResponse) -> Self {
            Self(answer: .response(response))
        }

        /// Creates a step with a response of the given status, header fields and body.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields, in order.
        ///   - body: The body.
        /// - Returns: The step.
        public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> Self {
            .response(HTTPTransportResponse(status: status, headers: headers, body: body))
        }

        /// Creates a step with a JSON response.
        ///
        /// - Parameters:
        ///   - text: The JSON text, sent unchanged.
        ///   - status: The status code. The default is 200.
        ///   - headers: Additional header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("application/json"), body: Data(text.utf8))
        }

        /// Creates a step with a response of UTF-8 text.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - status: The status code. The default is 200.
        ///   - headers: Additional header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("text/plain; charset=utf-8"), body: Data(text.utf8))
        }

        /// Creates a step that fails with an error.
        ///
        /// - Parameter error: The error. If it isn't a `NetworkError`, it becomes the cause of one.
        /// - Returns: The step.
        public static func failure(_ error: any Error) -> Self {
            Self(answer: .failure(error))
        }

        /// Creates a step that responds with a closure.
        ///
        /// - Parameter handler: The closure.
        /// - Returns: The step.
        public static func handler(_ handler: @escaping Handler) -> Self {
            Self(answer: .handler(handler))
        }

        /// A missing response; the request fails at its deadline, if it has one.
        public static var never: Self { Self(answer: .never) }

        /// Returns the step with a delay before the response, measured by the transport's time
        /// source.
        ///
        /// - Parameter duration: The delay.
        /// - Returns: The delayed step.
        public func delayed(by duration: Duration) -> Self {
            pausing(.delay(duration))
        }

        /// Returns the step with a gate that holds the response back.
        ///
        /// - Parameter gate: The gate, which a test opens.
        /// - Returns: The gated step.
        public func gated(by gate: ResponseGate) -> Self {
            pausing(.gate(gate))
        }

        private func pausing(_ pause: ResponsePause) -> Self {
            var copy = self
            copy.pauses.append(pause)
            return copy
        }
    }
}
