import Foundation
import OpenSSLCrypto
public import TokenGeneration

extension ClientAuthentication where Self == JWTClientAuthentication {
    /// An assertion in the format of [Microsoft Entra
    /// ID](https://learn.microsoft.com/entra/identity-platform/certificate-credentials), which
    /// deviates from RFC 10070: its audience is the token endpoint, its `typ` is `JWT`, and
    /// `x5t#S256` names the certificate.
    ///
    /// ```swift
    /// let key = try SigningKey(pem: pem, algorithm: .ps256)
    /// let authentication = try JWTClientAuthentication.entra(
    ///     clientID: clientID,
    ///     signingKey: key,
    ///     certificate: certificate
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - clientID: The application's identifier.
    ///   - signingKey: The private key, an RSA key for `PS256`.
    ///   - certificate: The registered certificate in PEM, optionally with its chain.
    ///   - lifetime: The lifetime of an assertion. The default is 5 minutes.
    /// - Returns: The authentication.
    /// - Throws: `TokenError` with the code `malformedKey` if the text has no certificate, or
    ///   `keyMismatch` if it's for another key.
    public static func entra(
        clientID: String,
        signingKey: SigningKey,
        certificate: String,
        lifetime: Duration = .seconds(300)
    ) throws(TokenError) -> Self {
        .privateKeyJWT(
            clientID: clientID,
            signingService: signingKey,
            audience: .tokenEndpoint,
            lifetime: lifetime,
            header: ["typ": "JWT", "x5t#S256": .string(try signingKey.thumbprint(ofCertificate: certificate))]
        )
    }
}

extension SigningKey {
    /// Returns the SHA-256 thumbprint of the key's certificate, optionally with its chain, in
    /// base64url.
    package func thumbprint(ofCertificate pem: String) throws(TokenError) -> String {
        let certificate: Certificate
        do { certificate = try Certificate.list(pem: pem)[0] } catch {
            throw TokenError(.malformedKey, error.message, cause: error)
        }
        let key = try verificationKey.jwk.certified(by: [certificate.der])
        // Never absent: `certified` sets it.
        return key.members["x5t#S256"]?.string ?? ""
    }
}
