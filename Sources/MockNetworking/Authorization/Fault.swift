public import Foundation
import Networking
public import TokenGeneration

extension MockAuthorizationServer {
    /// A fault in the response to one request.
    public struct Fault: Sendable {
        enum Kind: Sendable {
            /// The server doesn't process the request.
            case instead(LoopbackResponse)
            /// The server processes the request, and changes its response.
            case changed(@Sendable (LoopbackResponse) -> LoopbackResponse)
            /// The server processes the request, and signs the JWT in its response again.
            case signed(IDTokenFault)
            /// The server processes the request, and encrypts the JWT in its response wrongly.
            case encrypted(EncryptionFault)
        }

        let kind: Kind

        // MARK: Responses without processing

        /// Responds with an error, without processing the request
        /// ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
        ///
        /// - Parameters:
        ///   - code: The error code, such as `invalid_grant`.
        ///   - status: The status code. The default is 400.
        /// - Returns: The fault.
        public static func error(_ code: String, status: Int = 400) -> Self {
            .response(TokenEndpointError(code: code, description: "a simulated fault", status: status).response)
        }

        /// Responds with a 503, optionally with a `Retry-After`.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func unavailable(retryAfter: String? = nil) -> Self { refusal(503, retryAfter) }

        /// Responds with a 429, optionally with a `Retry-After`.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func tooManyRequests(retryAfter: String? = nil) -> Self { refusal(429, retryAfter) }

        /// Responds with an HTML page.
        ///
        /// - Parameter status: The status code. The default is 200.
        /// - Returns: The fault.
        public static func html(status: Int = 200) -> Self {
            .response(
                .text("<!doctype html><title>Sign in</title>", status: status, headers: ["Content-Type": "text/html"])
            )
        }

        /// Responds with any response, without processing the request.
        ///
        /// - Parameter response: The response.
        /// - Returns: The fault.
        public static func response(_ response: LoopbackResponse) -> Self { Self(kind: .instead(response)) }

        /// Responds with a redirect.
        ///
        /// - Parameters:
        ///   - url: The target.
        ///   - status: The status code. The default is 302.
        /// - Returns: The fault.
        public static func redirect(to url: URL, status: Int = 302) -> Self {
            .response(.status(status, headers: ["Location": url.absoluteString]))
        }

        /// Responds with JSON of excessive size: `{"keys":[],"padding":"…"}`.
        ///
        /// - Parameter size: The size of the padding in bytes. The default is 8 MiB.
        /// - Returns: The fault.
        public static func huge(_ size: Int = 8 << 20) -> Self {
            .response(.json(#"{"keys":[],"padding":"\#(String(repeating: "x", count: size))"}"#))
        }

        /// A missing response to a request that isn't processed.
        public static let silence = response(.never)

        // MARK: Changed responses

        /// A lost response: the request is processed, so a refresh token may be used and its
        /// successor lost.
        package static let lostAnswer = Self(kind: .changed { $0.cut(.beforeHead) })

        /// A response that's cut in the middle of its body, after processing the request.
        package static let cutAnswer = Self(kind: .changed { $0.cut(.afterBody(octets: 10)) })

        /// Delays the response.
        ///
        /// - Parameter delay: The delay.
        /// - Returns: The fault.
        public static func slow(_ delay: Duration) -> Self { Self(kind: .changed { $0.delayed(by: delay) }) }

        /// Changes or removes members of the response.
        ///
        /// - Parameter members: The new values. `nil` removes a member.
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

        /// A missing lifetime.
        package static let noLifetime = Self.members(["expires_in": nil])

        /// Signs the JWT in the response incorrectly: an ID token, which is issued with a valid
        /// access token, or an authorization response with a valid code
        /// ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)).
        package static func signedToken(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
            Self(kind: .signed(fault))
        }

        /// Processes the request, and encrypts the JWT in the response incorrectly.
        ///
        /// - Parameter fault: The fault of the encryption.
        /// - Returns: The fault.
        public static func encryption(_ fault: MockAuthorizationServer.EncryptionFault) -> Self {
            Self(kind: .encrypted(fault))
        }

        private static func refusal(_ status: Int, _ retryAfter: String?) -> Self {
            var headers: HTTPHeaders = [:]
            headers["Retry-After"] = retryAfter
            return .response(.status(status, headers: headers))
        }
    }
}
