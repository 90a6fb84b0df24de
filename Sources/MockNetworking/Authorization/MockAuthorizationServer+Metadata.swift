import Foundation
import Networking
import TokenGeneration

extension MockAuthorizationServer {
    /// Returns the metadata of a server
    /// ([RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)).
    static func metadataDocument(
        _ server: LoopbackServer,
        _ mutualTLSServer: LoopbackServer?,
        _ configuration: Configuration
    ) -> JSONObject {
        let algorithm = JSONValue.string(configuration.signingAlgorithm.rawValue)
        func url(_ endpoint: Endpoint) -> JSONValue { .string(server.url(for: endpoint.rawValue).absoluteString) }
        var document: JSONObject = [
            "issuer": .string(server.baseURL.absoluteString + configuration.dialect.issuerPath),
            "token_endpoint": url(.token),
            "revocation_endpoint": url(.revocation),
            "introspection_endpoint": url(.introspection),
            "pushed_authorization_request_endpoint": url(.pushedAuthorizationRequests),
            "registration_endpoint": url(.registration),
            "userinfo_endpoint": url(.userInfo),
            "end_session_endpoint": url(.endSession),
            "jwks_uri": url(.keys),
            "grant_types_supported": .array(GrantType.allCases.map { .string($0.rawValue) }),
            "authorization_endpoint": url(.authorization),
            "device_authorization_endpoint": url(.deviceAuthorization),
            "backchannel_authentication_endpoint": url(.backchannelAuthentication),
            "backchannel_token_delivery_modes_supported": ["poll", "ping"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "jwt", "query.jwt"],
            "authorization_signing_alg_values_supported": [algorithm],
            "id_token_signing_alg_values_supported": [algorithm],
            "introspection_signing_alg_values_supported": [algorithm],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "token_endpoint_auth_methods_supported": [
                "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
                "tls_client_auth", "self_signed_tls_client_auth",
            ],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA", "HS256"],
            "dpop_signing_alg_values_supported": ["ES256"],
        ]
        let kinds = ["id_token", "userinfo", "authorization", "introspection"]
        for name in configuration.decryptionKeys.isEmpty ? kinds : kinds + ["request_object"] {
            let algorithms = JWEAlgorithm.implemented.map(\.rawValue).filter { !$0.hasPrefix("PBES2") }
            document["\(name)_encryption_alg_values_supported"] = .array(algorithms.map(JSONValue.string))
            document["\(name)_encryption_enc_values_supported"] = .array(
                JWEEncryption.implemented.map { .string($0.rawValue) }
            )
        }
        if configuration.requiresPushedAuthorizationRequests {
            document["require_pushed_authorization_requests"] = true
        }
        if !configuration.clientDocuments.isEmpty { document["client_id_metadata_document_supported"] = true }
        if let mutualTLSServer {
            document["tls_client_certificate_bound_access_tokens"] = true
            let aliases = [
                ("token_endpoint", Endpoint.token), ("device_authorization_endpoint", .deviceAuthorization),
                ("revocation_endpoint", .revocation), ("introspection_endpoint", .introspection),
                ("pushed_authorization_request_endpoint", .pushedAuthorizationRequests),
            ]
            document["mtls_endpoint_aliases"] = .object(
                JSONObject(aliases.map { ($0.0, .string(mutualTLSServer.url(for: $0.1.rawValue).absoluteString)) })
            )
        }
        return document
    }
}
