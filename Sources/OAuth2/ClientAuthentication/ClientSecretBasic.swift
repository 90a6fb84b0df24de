public import Foundation
import Networking

/// The client's secret in the `Authorization` header field
/// ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
public struct ClientSecretBasic: ClientAuthentication {
    /// The encoding of the identifier and the secret in the header field.
    public struct Encoding: Sendable, Hashable {
        private enum Wrapped {
            case form, raw
        }

        private let wrapped: Wrapped

        /// Form-encodes both before joining them, as RFC 6749 requires and some clients forget.
        public static let form = Self(wrapped: .form)
        /// Joins both unencoded, for servers that don't decode them.
        ///
        /// An identifier with a colon can't be sent this way; the server would cut it at the colon.
        public static let raw = Self(wrapped: .raw)
    }

    /// The client's identifier.
    public let clientID: String
    let secret: Secret
    let encoding: Encoding

    /// Sets the `Authorization` header field.
    ///
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` for an unencodable identifier.
    public func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
        guard encoding == .form || !clientID.utf8.contains(UInt8(ascii: ":")) else {
            throw OAuth2Error(
                .assertionFailed,
                "a client ID with a colon must be form-encoded in the header field; use .form or another authentication method"
            )
        }
        let encode = { encoding == .form ? FormURLEncoded.encode($0) : $0 }
        let pair = secret.expose { "\(encode(clientID)):\(encode($0))" }
        request.headers["Authorization"] = "Basic \(Data(pair.utf8).base64EncodedString())"
    }
}

extension ClientAuthentication where Self == ClientSecretBasic {
    /// The client's secret in the `Authorization` header field: `client_secret_basic`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    ///   - encoding: The encoding of both. The default is form encoding, as RFC 6749 requires.
    /// - Returns: The authentication.
    public static func clientSecretBasic(
        clientID: String,
        secret: Secret,
        encoding: ClientSecretBasic.Encoding = .form
    ) -> Self {
        Self(clientID: clientID, secret: secret, encoding: encoding)
    }
}
