public import FoundationNetworking

// Foundation's setters change nothing, and say nothing, when a value has a line break or a zero byte in it: the request would be sent without
// the field.
extension URLRequest {
    /// Sets a header field, in place of the one that there may be, or throws if no request can have it.
    ///
    /// `setValue(_:forHTTPHeaderField:)` drops a value with a line break or a zero byte silently, and the request is sent without the
    /// field. Use this method instead for values that come from elsewhere, as in an interceptor:
    ///
    /// ```swift
    /// ClosureInterceptor.changingRequest { try $0.setHeaderField("X-Tenant", to: tenant) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the name isn't a token, or the value has a control character
    ///   ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    public mutating func setHeaderField(_ name: String, to value: String) throws(NetworkError) {
        try HTTPHeaders.Field(name: name, value: value).validate()
        setValue(value, forHTTPHeaderField: name)
    }

    /// Adds header fields to those that there are.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the request can't have one of them.
    package mutating func addHeaderFields(_ headers: HTTPHeaders) throws(NetworkError) {
        for field in headers {
            try field.validate()
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }
}
