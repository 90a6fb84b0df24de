/// What an upload does otherwise than by default.
public struct UploadOptions: Sendable {
    /// Whether the server is asked before the body is sent, with `Expect: 100-continue`
    /// ([RFC 9110 §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)); no by default.
    ///
    /// A server that refuses the request then does so before it has received everything. One that says nothing gets the body after a
    /// second, and one that refuses the question (417) is sent the request again without it. Over HTTP/2 there is no question.
    public var expectsContinue: Bool
    /// What its requests do otherwise than the client; a body in it is not looked at.
    ///
    /// Other than the client's requests, those of a transfer have no timeout for the whole, unless these options say so, and an idle timeout of
    /// 60 seconds, unless these say otherwise.
    public var request: RequestOptions

    /// Makes options.
    ///
    /// - Parameters:
    ///   - expectsContinue: Whether the server is asked before the body is sent.
    ///   - request: What its requests do otherwise than the client.
    public init(expectsContinue: Bool = false, request: RequestOptions = RequestOptions()) {
        self.expectsContinue = expectsContinue
        self.request = request
    }
}
