import Foundation
import Networking

/// The digest of a body that is about to be sent.
enum BodyDigest {
    /// Returns the value of `Content-Digest` for a body.
    ///
    /// - Parameters:
    ///   - body: The body, which is read if it can be read again.
    ///   - headers: The message's header fields. If they have the field, it must match the body.
    ///   - algorithm: The hash algorithm of a new field.
    /// - Returns: The field's value.
    /// - Throws: ``HTTPSignatureError`` with the code `bodyNotReadable`, `digestMismatch`,
    ///   `unsupportedDigest` or `malformedComponent`; the errors of `HTTPBody.read(_:)`.
    static func field(
        of body: HTTPBody,
        in headers: HTTPHeaders,
        _ algorithm: HTTPDigest.Algorithm
    ) async throws -> String {
        let lines = headers.values(for: "Content-Digest")
        guard !lines.isEmpty else {
            guard body.isReplayable else {
                throw HTTPSignatureError(
                    .bodyNotReadable,
                    "the body can be read only once, so its digest isn't known before it's sent; set Content-Digest, or use "
                        + "a body that can be read twice"
                )
            }
            let hasher = try HTTPDigest.Hasher([algorithm])
            try await body.read { part in try hasher.update(part) }
            return try hasher.finish().fieldValue
        }
        let check = ContentCheck(digest: try HTTPDigest(in: headers))
        if body.isReplayable {
            let progress = try check.start()
            try await body.read { part in try progress.update(part) }
            try progress.finish()
        }
        return lines.joined(separator: ", ")
    }
}
