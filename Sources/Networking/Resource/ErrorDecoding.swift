public import Foundation

/// What the body of a response that is not accepted means.
///
/// The decoded error is ``ServerError/apiError`` of the error that the client throws:
///
/// ```swift
/// do {
///     _ = try await client.fetch(resource)
/// } catch let error as ServerError {
///     if let problem = error.problem { show(problem.title) }
/// }
/// ```
public struct ErrorDecoding: Sendable {
    /// Decodes; see ``init(_:)``.
    public let decode: @Sendable (HTTPResponse) -> (any Error)?

    /// Makes a decoding of the user's own.
    ///
    /// - Parameter decode: Makes an error of a response whose status is not accepted, or `nil` if it says nothing.
    public init(_ decode: @escaping @Sendable (HTTPResponse) -> (any Error)?) {
        self.decode = decode
    }

    /// The API's own type of error, as JSON.
    ///
    /// - Parameters:
    ///   - type: The type. What does not decode as it is no such error, and not a failure of its own.
    ///   - decoder: What decodes it; a plain one by default.
    /// - Returns: The decoding.
    public static func json<Failure: Error & Decodable>(
        _ type: Failure.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> Self {
        Self { response in
            response.body.isEmpty ? nil : try? decoder.decode(Failure.self, from: response.body)
        }
    }

    /// Problem details, if the response says that it has some ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
    ///
    /// It is what clients do unless they are told otherwise.
    public static let problemDetails = Self { ProblemDetails($0) }

    /// Nothing: bodies of errors are not looked at.
    public static let none = Self { _ in nil }

    /// The first of several decodings that finds an error.
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
