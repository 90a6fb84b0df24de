import Foundation
public import FoundationNetworking

extension HTTPURLResponse {
    /// Creates a response with only a status code, for tests.
    ///
    /// Its URL is `https://example.com`, which [RFC 2606](https://www.rfc-editor.org/rfc/rfc2606)
    /// reserves for examples.
    ///
    /// - Parameter statusCode: The status code.
    public convenience init(statusCode: Int) {
        // swift-format-ignore: NeverForceUnwrap
        let url = URL(string: "https://example.com")!  // reason: a constant, valid URL
        // swift-format-ignore: NeverForceUnwrap
        self.init(url: url, statusCode: statusCode, httpVersion: nil, headerFields: nil)!  // reason: it never fails
    }
}
