public import Foundation

/// A way to decode an API's error from the body of a response whose status the client doesn't
/// accept.
///
/// The client stores the decoded error in ``ServerError/apiError`` of the error that it throws:
///
/// ```swift
/// do {
///     _ = try await client.fetch(resource)
/// } catch let error as ServerError {
///     if let problem = error.problem { show(problem.title) }
/// }
/// ```
public struct ErrorDecoding: Sendable {
    /// The decoding closure; see ``init(_:)``.
    public let decode: @Sendable (HTTPResponse) -> (any Error)?

    /// Creates a decoding from a closure that returns the error that a response with an unaccepted
    /// status describes, or `nil` if it doesn't describe one.
    public init(_ decode: @escaping @Sendable (HTTPResponse) -> (any Error)?) {
        self.decode = decode
    }

    /// Returns a decoding of the API's own error type from JSON.
    ///
    /// - Parameters:
    ///   - type: The error type. A body that doesn't decode as this type gives no API error; the
    ///     decoding itself never fails.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    /// - Returns: The decoding.
    public static func json<Failure: Error & Decodable>(
        _ type: Failure.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> Self {
        Self { response in
            response.body.isEmpty ? nil : try? decoder.decodeChecked(Failure.self, from: response.body)
        }
    }

    /// A decoding of problem details ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)), the
    /// default.
    ///
    /// It only decodes responses that declare problem details.
    public static let problemDetails = Self { ProblemDetails($0) }

    /// A decoding that ignores the bodies of errors.
    public static let none = Self { _ in nil }

    /// Returns a decoding that tries several decodings and uses the first that finds an error.
    ///
    /// - Parameter decodings: The decodings, in order.
    /// - Returns: The decoding.
    public static func first(_ decodings: ErrorDecoding...) -> Self {
        Self { response in
            for decoding in decodings {
                if let error = decoding.decode(response) { return error }
            }
            return nil
        }
    }
}

/// An API error in the `application/problem+json` format
/// ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
///
/// Members whose type differs from the RFC's are ignored, as §3.1 requires. The strings are the
/// server's; ``description`` contains none of them.
public struct ProblemDetails: Error, Sendable, CustomStringConvertible, CustomReflectable, LocalizedError {
    /// The kind of problem, as a URI reference; `about:blank` refers to the status code.
    public let type: String
    /// A short, human-readable summary of the kind of problem.
    public let title: String?
    /// The status code that the origin server generated.
    ///
    /// An intermediary may have changed the response's status.
    public let status: Int?
    /// A human-readable explanation of this occurrence.
    public let detail: String?
    /// The URI reference that identifies this occurrence.
    public let instance: String?
    private let content: Data

    /// Creates problem details from a response.
    ///
    /// Returns `nil` if the `Content-Type` differs or the body isn't a JSON object.
    ///
    /// - Parameter response: The response.
    public init?(_ response: HTTPResponse) {
        guard MediaType(response.headers["Content-Type"] ?? "")?.essence == "application/problem+json" else {
            return nil
        }
        self.init(json: response.body)
    }

    package init?(json: Data) {
        guard let members = try? JSONDecoder().decodeChecked(Members.self, from: json) else { return nil }
        type = members.type?.value ?? "about:blank"
        title = members.title?.value
        status = members.status?.value
        detail = members.detail?.value
        instance = members.instance?.value
        content = json
    }

    /// Returns the value of an extension member
    /// ([RFC 9457 §3.2](https://www.rfc-editor.org/rfc/rfc9457#section-3.2)).
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - type: The member's type.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    /// - Returns: The value, or `nil` if the member is missing or has another type.
    public func member<Value: Decodable>(
        _ name: String,
        as type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> Value? {
        // The decoder may be shared, so its userInfo can't carry the member's name. Hence the
        // dictionary.
        try? decoder.decode([String: Lenient<Value>].self, from: content)[name]?.value
    }

    private struct Lenient<Value: Decodable>: Decodable {
        let value: Value?

        init(from decoder: any Decoder) throws {
            value = try? Value(from: decoder)
        }
    }

    private struct Members: Decodable {
        let type, title, detail, instance: Lenient<String>?
        let status: Lenient<Int>?
    }

    /// A text with the status code only; the server's texts are in ``title`` and ``detail``.
    public var description: String {
        status.map { "the server described a problem (status \($0))" } ?? "the server described a problem"
    }

    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The status only; the other members come from the response's body.
    public var customMirror: Mirror { Mirror(self, children: ["status": status as Any]) }
}
