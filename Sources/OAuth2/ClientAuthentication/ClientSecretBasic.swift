public import Foundation
import Networking

/// The client's secret in the `Authorization` header field
/// ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
public struct ClientSecretBasic: ClientAuthentication {
    /// How identifier and secret are written into the header field.
    public struct Encoding: Sendable, Hashable {
        private enum Wrapped {
            case form, raw
        }

        private let wrapped: Wrapped

        /// Both are form-encoded before they are joined, as RFC 6749 demands and some clients forget.
        public static let form = Self(wrapped: .form)
        /// Both are joined as they are, for servers that do not decode what they get.
        ///
        /// An identifier with a colon can't be sent that way: it would end at the colon.
        public static let raw = Self(wrapped: .raw)
    }

    /// The client's identifier.
    public let clientID: String
    private let secret: Secret
    private let encoding: Encoding

    /// Makes the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    ///   - encoding: How both are written; as RFC 6749 demands by default.
    public init(clientID: String, secret: Secret, encoding: Encoding = .form) {
        self.clientID = clientID
        self.secret = secret
        self.encoding = encoding
    }

    /// Sets the `Authorization` header field.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: Not used.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` for an identifier that the encoding can't have.
    public func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
        guard encoding == .form || !clientID.utf8.contains(UInt8(ascii: ":")) else {
            throw OAuth2Error(
                .assertionFailed,
                "a client identifier with a colon must be form-encoded in the header; is there a way without the header?"
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
    ///   - encoding: How both are written; as RFC 6749 demands by default.
    /// - Returns: The authentication.
    public static func clientSecretBasic(
        clientID: String,
        secret: Secret,
        encoding: ClientSecretBasic.Encoding = .form
    ) -> Self {
        Self(clientID: clientID, secret: secret, encoding: encoding)
    }
}
