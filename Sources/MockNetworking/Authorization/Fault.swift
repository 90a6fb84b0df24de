import Networking
import Synchronization
public import TokenGeneration

extension MockAuthorizationServer {
    /// What goes wrong with one request.
    public struct Fault: Sendable {
        enum Kind: Sendable {
            /// The request is not looked at.
            case instead(LoopbackResponse)
            /// The request is answered, and what was issued counts; the answer is changed.
            case changed(@Sendable (LoopbackResponse) -> LoopbackResponse)
            /// The request is answered, and what was issued counts; the JWT in the answer is signed
            /// anew.
            case signed(IDTokenFault)
        }

        let kind: Kind

        // MARK: Instead of an answer

        /// An error ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)); the
        /// request is not looked at.
        ///
        /// - Parameters:
        ///   - code: The error code, such as `invalid_grant`.
        ///   - status: The status.
        /// - Returns: The fault.
        public static func error(_ code: String, status: Int = 400) -> Self {
            .response(TokenEndpointError(code: code, description: "a fault", status: status).response)
        }

        /// A 503, which may say when to come again.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func unavailable(retryAfter: String? = nil) -> Self { refusal(503, retryAfter) }

        /// A 429, which may say when to come again.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func tooManyRequests(retryAfter: String? = nil) -> Self { refusal(429, retryAfter) }

        /// A page for people.
        ///
        /// - Parameter status: The status.
        /// - Returns: The fault.
        public static func html(status: Int = 200) -> Self {
            .response(
                .text("<!doctype html><title>Sign in</title>", status: status, headers: ["Content-Type": "text/html"])
            )
        }

        /// Any other response; the request is not looked at.
        ///
        /// - Parameter response: The response.
        /// - Returns: The fault.
        public static func response(_ response: LoopbackResponse) -> Self { Self(kind: .instead(response)) }

        /// No answer, ever; the request is not looked at.
        public static let silence = response(.never)

        // MARK: A changed answer

        /// What was asked for is done, and the connection ends before the answer: a refresh token
        /// was used, and its successor is lost.
        package static let lostAnswer = Self(kind: .changed { $0.cut(.beforeHead) })

        /// What was asked for is done, and the answer ends in the middle of its body.
        package static let cutAnswer = Self(kind: .changed { $0.cut(.afterBody(octets: 10)) })

        /// The answer comes late.
        ///
        /// - Parameter delay: How late.
        /// - Returns: The fault.
        public static func slow(_ delay: Duration) -> Self { Self(kind: .changed { $0.delayed(by: delay) }) }

        /// Members of the answer have other values, or are missing.
        ///
        /// - Parameter members: The new values; `nil` takes a member away.
        /// - Returns: The fault.
        public static func members(_ members: [String: JSONValue?]) -> Self {
            Self(
                kind: .changed { response in
                    guard case .data(let body) = response.content, var object = try? JSONObject(parsing: body) else {
                        return response
                    }
                    for (name, value) in members { object[name] = value }
                    return .json(object.serialized(), status: response.status, headers: response.headers)
                }
            )
        }

        /// The lifetime is a text, as some servers write it.
        package static let textLifetime = Self.members(["expires_in": "300"])

        /// There is no lifetime.
        package static let noLifetime = Self.members(["expires_in": nil])

        private static func refusal(_ status: Int, _ retryAfter: String?) -> Self {
            var headers: HTTPHeaders = [:]
            headers["Retry-After"] = retryAfter
            return .response(.status(status, headers: headers))
        }
    }
}

/// What goes wrong with the next requests, in sequence.
final class FaultQueue: Sendable {
    private let faults = Mutex<[MockAuthorizationServer.Endpoint: [MockAuthorizationServer.Fault]]>([:])

    func append(_ more: [MockAuthorizationServer.Fault], at endpoint: MockAuthorizationServer.Endpoint) {
        faults.withLock { $0[endpoint, default: []] += more }
    }

    func next(at endpoint: MockAuthorizationServer.Endpoint) -> MockAuthorizationServer.Fault? {
        faults.withLock { faults in
            guard var rest = faults[endpoint], !rest.isEmpty else { return nil }
            defer { faults[endpoint] = rest }
            return rest.removeFirst()
        }
    }
}
