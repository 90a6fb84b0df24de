/// The contents of a certificate to issue.
package struct CertificateIssuingTemplate: Sendable {
    /// The purpose of a certificate.
    package enum Role: Sendable, Hashable {
        /// An authority that issues certificates; `pathLength` is the maximum number of authorities
        /// between it and an end entity, `nil` for no limit
        /// ([RFC 5280 §4.2.1.9](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.9)).
        case authority(pathLength: Int?)
        /// A TLS server with these names: DNS names, including wildcards, and IP addresses.
        case server(hosts: [String])
        /// A TLS client.
        case client
    }

    /// The subject's common name, 1 to 64 characters.
    package var commonName: String
    /// The certificate's purpose.
    package var role: Role
    /// The start of the validity period, in seconds since 1970 (UTC).
    package var notBefore: Int64
    /// The last second of the validity period, in seconds since 1970 (UTC).
    package var notAfter: Int64

    /// Creates a template.
    package init(commonName: String, role: Role, notBefore: Int64, notAfter: Int64) {
        self.commonName = commonName
        self.role = role
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
