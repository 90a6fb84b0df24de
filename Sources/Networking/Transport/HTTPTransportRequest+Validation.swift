import Foundation

extension HTTPTransportRequest {
    /// Checks everything that could turn this request into another one on the wire.
    ///
    /// Every transport calls this before it sends a byte.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest`, naming the URL's or the field's defect.
    package func validate() throws(NetworkError) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw NetworkError(
                .invalidRequest,
                "the URL's scheme must be http or https, not “\(url.scheme ?? "none")”; give an absolute URL"
            )
        }
        guard let host = url.host, !host.isEmpty else {
            throw NetworkError(.invalidRequest, "the URL has no host; give an absolute URL")
        }
        if let port = url.port, !(1...65535).contains(port) {
            throw NetworkError(.invalidRequest, "the URL's port must be 1…65535, not \(port)")
        }
        for field in headers {
            guard HTTPSyntax.isToken(field.name) else {
                throw NetworkError(
                    .invalidRequest,
                    "a header field's name has \(field.name.isEmpty ? "no characters" : "a character it must not have"): "
                        + field.name.debugDescription.prefix(64)
                )
            }
            guard HTTPSyntax.isFieldValue(field.value) else {
                throw NetworkError(
                    .invalidRequest,
                    "the value of the header field “\(field.name)” has a control character, such as a line break"
                )
            }
        }
    }
}
