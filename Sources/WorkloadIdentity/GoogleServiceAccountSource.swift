import Foundation
import Networking
public import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// A token source for Google Cloud that signs its own tokens with the key of a `service_account`
/// file
/// ([Google](https://developers.google.com/identity/protocols/oauth2/service-account#jwt-auth)).
///
/// ```swift
/// let source = CachedTokenSource(try GoogleServiceAccountSource())
/// ```
///
/// The file contains a private key that doesn't expire. Prefer a ``GoogleMetadataSource`` in Google
/// Cloud and a ``GoogleExternalAccountSource`` elsewhere.
///
/// The source sends no request. Google's APIs accept the signed token, for an hour. The file is
/// read for each token, so a replaced key takes effect with the next one.
public struct GoogleServiceAccountSource: TokenSource {
    private static let variable = "GOOGLE_APPLICATION_CREDENTIALS"
    /// The longest lifetime that Google accepts, in seconds.
    private static let lifetime = 3_600

    private let path: String
    private let target: (name: String, value: String)
    private let environment: WorkloadEnvironment

    /// Creates a source from the file in `GOOGLE_APPLICATION_CREDENTIALS`.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the tokens. The default is `cloud-platform`.
    ///   - environment: The variables and clocks.
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if the variable or the
    ///   file is missing; `unreadableFile`, `insecureFile` or `tooLarge`; `invalidConfiguration` if
    ///   the file is malformed or of another kind.
    public init(
        scopes: [String] = ["https://www.googleapis.com/auth/cloud-platform"],
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        try self.init(("scope", scopes.joined(separator: " ")), environment)
    }

    /// Creates a source of tokens for one service, which can't be used at another.
    ///
    /// - Parameters:
    ///   - audience: The URL of the service with a slash, such as
    ///     `https://storage.googleapis.com/`.
    ///   - environment: The variables and clocks.
    /// - Throws: ``WorkloadIdentityError`` as ``init(scopes:environment:)`` does.
    public init(
        audience: String,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        try self.init(("aud", audience), environment)
    }

    private init(
        _ target: (name: String, value: String),
        _ environment: WorkloadEnvironment
    ) throws(WorkloadIdentityError) {
        path = try environment.value(of: Self.variable, advice: "set it to the path of a “service_account” file")
        self.target = target
        self.environment = environment
        _ = try Self.account(at: path)
    }

    /// Signs a token that expires in an hour.
    ///
    /// - Throws: ``WorkloadIdentityError`` as ``init(scopes:environment:)`` does, or with
    ///   the code `rejectedToken` if the caller rejects a token of the same second; `TokenError`
    ///   with the code `signingFailed`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let (email, key) = try await BlockingWork.value { [path] in try Self.account(at: path) }
        let now = environment.timeSource.now()
        let issued = Int(clamping: environment.timeSource.date().timeIntervalSince1970)
        let claims: JSONObject = [
            "iss": .string(email), "sub": .string(email), target.name: .string(target.value),
            "iat": .number(JSONNumber(issued)), "exp": .number(JSONNumber(issued + Self.lifetime)),
        ]
        let token = AccessToken(
            value: Secret(try JWTGenerator(payload: claims, signingService: key).token()),
            expiry: now + .seconds(Self.lifetime),
            requested: now
        )
        guard !requirements.isUnwanted(token.value) else {
            throw WorkloadIdentityError(
                .rejectedToken,
                "the caller rejects the token for \(email) that was signed in this second; check its roles"
            )
        }
        return token
    }

    private static func account(at path: String) throws(WorkloadIdentityError) -> (email: String, key: SigningKey) {
        let content = try PlatformFile.read(path, missing: "\(variable) names it")
        guard let file = try? JSONObject(parsing: Data(content)), file["type"] == "service_account" else {
            throw invalid("isn't a “service_account” file; for “external_account”, use GoogleExternalAccountSource")
        }
        guard let email = file["client_email"]?.string, let keyID = file["private_key_id"]?.string,
            let pem = file["private_key"]?.string, !email.isEmpty, !keyID.isEmpty
        else { throw invalid("has no “client_email”, “private_key_id” or “private_key”; create a key again") }
        do {
            return (email, try SigningKey(pem: pem, algorithm: .rs256).identified(by: keyID))
        } catch {
            throw invalid("has a “private_key” that isn't an RSA key (\(error.code)); create a key again")
        }
    }

    private static func invalid(_ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(.invalidConfiguration, "the file in \(variable) \(problem)")
    }
}
