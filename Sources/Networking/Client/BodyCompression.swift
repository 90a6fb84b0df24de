import CCurl
import Foundation
import FoundationNetworking
import Synchronization

/// The compression of the requests of one operation.
struct BodyCompression {
    private let minimumSize: Int?
    private let refusals: CompressionRefusals
    /// The origin of the current attempt, if its body is compressed.
    private var origin: HTTPOrigin?
    /// The origin that responded with 415 to a compressed body.
    private var refusing: HTTPOrigin?

    init(_ compression: RequestCompression, refusals: CompressionRefusals) {
        minimumSize = compression.minimumSize
        self.refusals = refusals
    }

    /// Compresses the body of a request if that's possible and useful.
    mutating func apply(to request: inout URLRequest) async throws {
        origin = nil
        guard let minimumSize, refusing == nil, let body = request.httpBody, body.count >= minimumSize,
            request.canBeCompressed, let origin = request.url.flatMap({ HTTPOrigin($0) }), !refusals.contains(origin)
        else { return }
        let isLarge = body.count > Self.longestAtOnce
        guard let coded = isLarge ? try await offloading({ Gzip.coded(body) }) : Gzip.coded(body) else { return }
        request.httpBody = coded
        request.setValue("gzip", forHTTPHeaderField: "Content-Encoding")
        // The transport sets the right one.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        self.origin = origin
    }

    /// The maximum size to compress on the threads that all tasks share, which takes milliseconds.
    private static let longestAtOnce = 256 << 10

    /// Returns whether a response rejects the compressed body, and remembers what the server takes.
    mutating func isRefused(by response: HTTPResponse) -> Bool {
        if let origin, response.status == 415 {
            refusing = origin
            if response.headers.excludesGzip { refusals.insert(origin) }
            return true
        }
        // Otherwise the server rejected the media type.
        if let refusing, response.status != 415 { refusals.insert(refusing) }
        return false
    }

    /// Returns whether to repeat a request that failed because of its compression.
    func mustRepeatPlain(_ failure: AttemptLoop.Failure) -> Bool {
        origin != nil && refusing != nil && !failure.isFinal
    }
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

/// Compression with the zlib that libcurl loads.
enum Gzip {
    /// Returns the bytes as a gzip file, or `nil` if it isn't smaller or zlib isn't available.
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

extension URLRequest {
    /// The header fields that describe the bytes of the body, so that it can't be changed.
    private static let describingFields = [
        "Content-Encoding", "Content-Range", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
    ]

    /// A Boolean value that indicates whether the body has a JSON media type and may be changed.
    fileprivate var canBeCompressed: Bool {
        guard let type = value(forHTTPHeaderField: "Content-Type").flatMap({ MediaType($0) }), type.isJSON else {
            return false
        }
        return Self.describingFields.allSatisfy { value(forHTTPHeaderField: $0) == nil }
    }
}

extension HTTPHeaders {
    /// A Boolean value that indicates whether an `Accept-Encoding` field excludes gzip.
    ///
    /// RFC 7694 §3: in a response, it lists the codings of requests that the server accepts.
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
