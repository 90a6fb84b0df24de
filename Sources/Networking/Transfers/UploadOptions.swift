/// The options of an upload.
public struct UploadOptions: Sendable {
    /// A Boolean value that indicates whether the client asks the server before it sends the body;
    /// the default is `false`.
    ///
    /// The client then sends `Expect: 100-continue`
    /// ([RFC 9110 §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)), so that the
    /// server can reject the request before it receives the body. If the server doesn't respond,
    /// the client sends the body after a second. If it rejects the expectation (417), the client
    /// sends the request again without it. Over HTTP/2, the client doesn't send the expectation.
    public var expectsContinue: Bool
    /// The interceptor that adds digests; `nil`, the default, sends none.
    ///
    /// It runs after the client's interceptors. If one of them signs the request, pass the
    /// ``DigestSender`` to the client instead, before that interceptor.
    public var digest: DigestSender?
    /// The options that override the client's; a body in them is ignored.
    ///
    /// Unlike the client's other requests, a transfer has no overall timeout, and its idle timeout
    /// is 60 seconds, unless these options specify them. The timeout starts when the upload begins
    /// to run, so waiting in the client's queue doesn't count.
    public var request: RequestOptions

    /// Creates options.
    ///
    /// - Parameters:
    ///   - expectsContinue: Whether the client sends `Expect: 100-continue` before the body. The
    ///     default is `false`.
    ///   - digest: The interceptor that adds digests. The default is `nil`.
    ///   - request: The options that override the client's.
    public init(
        expectsContinue: Bool = false,
        digest: DigestSender? = nil,
        request: RequestOptions = RequestOptions()
    ) {
        self.expectsContinue = expectsContinue
        self.digest = digest
        self.request = request
    }
}
