public import FoundationNetworking

// Foundation's setters silently ignore a value that contains a line break or a zero byte; the
// request would be sent without the field.
extension URLRequest {
    /// Sets a header field, replacing any value, or throws if the field is malformed.
    ///
    /// `setValue(_:forHTTPHeaderField:)` silently drops a value with a line break or a zero byte,
    /// and the request is sent without the field. Use this method for values from other sources, as
    /// in an interceptor:
    ///
    /// ```swift
    /// ClosureInterceptor.changingRequest {
    ///     try $0.setHeaderField("X-Tenant", to: tenant)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the name isn't a token, or the
    ///   value has a control character
    ///   ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    public mutating func setHeaderField(_ name: String, to value: String) throws(NetworkError) {
        try HTTPHeaders.Field(name: name, value: value).validate()
        setValue(value, forHTTPHeaderField: name)
    }

    /// Adds header fields to the existing ones.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a field is malformed.
    package mutating func addHeaderFields(_ headers: HTTPHeaders) throws(NetworkError) {
        for field in headers {
            try field.validate()
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }
}
