/// What a certificate that is to be issued says.
package struct CertificateIssuingTemplate: Sendable {
    /// What the certificate is for.
    package enum Role: Sendable, Hashable {
        /// It issues certificates; `pathLength` is how many authorities may come between it and an end entity, `nil` for
        /// any number ([RFC 5280 §4.2.1.9](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.9)).
        case authority(pathLength: Int?)
        /// It is shown by a TLS server that has these names: DNS names, wildcards among them, and IP addresses.
        case server(hosts: [String])
        /// It is shown by a TLS client.
        case client
    }

    /// The common name of the subject, 1 to 64 characters.
    package var commonName: String
    /// What it is for.
    package var role: Role
    /// The first second of its validity, counted from the start of 1970 (UTC).
    package var notBefore: Int64
    /// The last second of its validity, counted likewise.
    package var notAfter: Int64

    /// Describes a certificate.
    ///
    /// - Parameters:
    ///   - commonName: The common name of the subject, 1 to 64 characters.
    ///   - role: What it is for.
    ///   - notBefore: The first second of its validity, counted from the start of 1970 (UTC).
    ///   - notAfter: The last second of its validity, counted likewise.
    package init(commonName: String, role: Role, notBefore: Int64, notAfter: Int64) {
        self.commonName = commonName
        self.role = role
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
