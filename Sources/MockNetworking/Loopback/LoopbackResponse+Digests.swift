public import Foundation
public import Networking

extension LoopbackResponse {
    /// Returns the response with the digests that a request asks for with `Want-Content-Digest` or
    /// `Want-Repr-Digest` ([RFC 9530 §4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    ///
    /// Digests that the response already has don't change. Without a supported algorithm, or if
    /// the request's field is malformed, the digest is omitted.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - representation: The whole representation, if the response is for a part of it. The
    ///     default is the body.
    /// - Returns: The response.
    /// - Throws: `NetworkError` with the code `digestUnverifiable` if OpenSSL can't compute a
    ///   digest.
    public func addingDigests(
        wantedBy request: LoopbackRequest,
        representation: Data? = nil
    ) throws(NetworkError) -> Self {
        guard case .data(let body) = content else { return self }
        var response = self
        for field in HTTPDigest.Field.allCases where headers[field.rawValue] == nil {
            let lines = request.headers.values(for: field.preferenceName)
            guard let algorithm = (try? HTTPDigest.Preferences(parsing: lines))?.algorithms.first else { continue }
            // The response to HEAD has no content (appendix B.2).
            let content =
                switch field {
                case .content: request.method == .head ? Data() : body
                case .representation: representation ?? body
                }
            let digest = try HTTPDigest(of: content, by: algorithm)
            response.headers.append(name: field.rawValue, value: digest.fieldValue)
        }
        return response
    }
}
