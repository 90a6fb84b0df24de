import CCurl
import Foundation
import Synchronization

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

/// Compresses bodies before all other interceptors; it sends a request again without compression if
/// the server refuses it.
struct BodyCompression: RequestInterceptor {
    let minimumSize: Int
    let refusals: CompressionRefusals

    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        guard let origin = HTTPOrigin(request.url), let coded = try await coded(request, for: origin) else {
            return try await next(request)
        }
        let response = try await next(coded)
        guard response.status == 415 else { return response }
        if response.headers.excludesGzip { refusals.insert(origin) }
        let second = try await next(request)
        // Otherwise the server rejected the media type.
        if second.status != 415 { refusals.insert(origin) }
        return second
    }

    private func coded(_ request: HTTPRequest, for origin: HTTPOrigin) async throws -> HTTPRequest? {
        guard let body = request.heldBody, body.count >= minimumSize, request.canBeCompressed,
            !refusals.contains(origin)
        else { return nil }
        let isLarge = body.count > Self.longestAtOnce
        guard let coded = isLarge ? try await offloading({ Gzip.coded(body) }) : Gzip.coded(body) else { return nil }
        var request = request
        request.body = .data(coded)
        request.headers["Content-Encoding"] = "gzip"
        // The transport sets the right one.
        request.headers["Content-Length"] = nil
        return request
    }

    /// The maximum size to compress on the threads that all tasks share, which takes milliseconds.
    private static let longestAtOnce = 256 << 10
}

/// The origins that don't take compressed bodies, the oldest of which are forgotten.
final class CompressionRefusals: Sendable {
    private static let maximumCount = 256
    private let origins = Mutex<[HTTPOrigin]>([])

    func contains(_ origin: HTTPOrigin) -> Bool { origins.withLock { $0.contains(origin) } }

    func insert(_ origin: HTTPOrigin) {
        origins.withLock { origins in
            guard !origins.contains(origin) else { return }
            if origins.count >= Self.maximumCount { origins.removeFirst() }
            origins.append(origin)
        }
    }
}

enum Gzip {
    /// Returns `nil` if the file isn't smaller, or zlib isn't available.
    static func coded(_ data: Data) -> Data? {
        guard data.count > 1 else { return nil }
        var output = [UInt8](repeating: 0, count: data.count - 1)
        let count = unsafe data.withUnsafeBytes { input in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe ccoding_gzip(
                    input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    input.count,
                    output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    output.count
                )
            }
        }
        return count > 0 ? Data(output[..<count]) : nil
    }
}

extension HTTPRequest {
    /// The header fields that describe the bytes of the body, so that it can't be changed.
    private static let describingFields = [
        "Content-Encoding", "Content-Range", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
    ]

    fileprivate var canBeCompressed: Bool {
        guard let type = headers["Content-Type"].flatMap({ MediaType($0) }), type.isJSON else {
            return false
        }
        return Self.describingFields.allSatisfy { headers[$0] == nil }
    }
}

extension HTTPHeaders {
    /// RFC 7694 §3: in a response, the field lists the codings of requests that the server accepts.
    fileprivate var excludesGzip: Bool {
        let fields = values(for: "Accept-Encoding")
        guard !fields.isEmpty else { return false }
        return !fields.joined(separator: ",").asciiOnly.split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            guard let coding = parts.first, ["gzip", "x-gzip", "*"].contains(coding) else { return false }
            // A weight of 0 means “not acceptable” (RFC 9110 §12.4.2).
            return !parts.dropFirst().contains { part in
                part.hasPrefix("q=0") && part.dropFirst(3).allSatisfy { "0.".contains($0) }
            }
        }
    }
}
