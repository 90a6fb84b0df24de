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

    /// Creates a custom decoding.
    ///
    /// - Parameter decode: Returns the error that a response with an unaccepted status describes,
    ///   or `nil` if it doesn't describe one.
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
            response.body.isEmpty ? nil : try? decoder.decode(Failure.self, from: response.body)
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
