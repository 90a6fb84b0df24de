public import HTTPTypes
public import Networking

extension HTTPHeaders {
    /// Creates header fields from those of swift-http-types.
    ///
    /// - Parameter fields: The fields. Repeated ones stay separate.
    public init(_ fields: HTTPFields) {
        self.init(fields.map { Field(name: $0.name.rawName, value: $0.value) })
    }
}

extension HTTPFields {
    /// Sets fields, each replacing all fields of its name.
    ///
    /// - Parameter headers: The fields, for example the credentials of a `RequestAuthentication`. A
    ///   field whose name isn't a token is left out.
    public mutating func set(_ headers: HTTPHeaders) {
        for name in headers.map(\.name) {
            guard let key = HTTPField.Name(name) else { continue }
            self[values: key] = headers.values(for: name)
        }
    }
}

extension HTTPTypes.HTTPRequest {
    /// The absolute URL, as text; `nil` without a scheme or an authority, or if the path doesn't
    /// begin with a slash.
    ///
    /// An authenticator needs it, for the origin and for DPoP proofs.
    public var absoluteURL: String? {
        guard let scheme, let authority else { return nil }
        return path == nil ? "\(scheme)://\(authority)/" : text(below: "\(scheme)://\(authority)")
    }

    /// Returns the URL of the path below a base; `nil` if the path could change the host.
    func text(below base: String) -> String? {
        let path = path ?? ""
        guard path.isEmpty || path.hasPrefix("/") || base.hasSuffix("/") else { return nil }
        return base + path
    }
}
