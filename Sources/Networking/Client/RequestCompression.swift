/// The compression of request bodies.
///
/// ```swift
/// let client = NetworkClient(
///     options: NetworkClient.Options(requestCompression: .gzip())
/// )
/// ```
///
/// The client compresses a body that's in memory, has a JSON media type and becomes smaller. It
/// sets `Content-Encoding` and replaces the caller's `Content-Length`. It doesn't change a request
/// that has a `Content-Encoding`, a `Content-Range` or a digest of its body. Compression precedes
/// the interceptors, so they see and sign the bytes that are sent, and isn't applied to a body that
/// an interceptor sets.
///
/// If the server responds with 415
/// ([RFC 9110 §15.5.16](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.16)), the client sends
/// the request once more without compression, with any method, because the server hasn't processed
/// it. This doesn't count as a retry. If that helps, or if the `Accept-Encoding` of the response
/// excludes gzip ([RFC 7694](https://www.rfc-editor.org/rfc/rfc7694)), the client doesn't compress
/// later requests to that origin.
///
/// - Warning: The size of a compressed body depends on its content. Don't compress bodies that
///   contain both a secret and text that an attacker chooses.
public struct RequestCompression: Hashable, Sendable {
    /// The size from which bodies are compressed, or `nil` to compress none.
    let minimumSize: Int?

    /// No compression.
    public static let none = Self(minimumSize: nil)

    /// Returns compression with gzip ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)).
    ///
    /// It needs zlib, which libcurl loads into the process. Without it, bodies aren't compressed.
    ///
    /// - Parameter minimumSize: The size in bytes from which bodies are compressed. The default is
    ///   1024.
    /// - Returns: The compression.
    public static func gzip(minimumSize: Int = 1024) -> Self { Self(minimumSize: max(0, minimumSize)) }
}
