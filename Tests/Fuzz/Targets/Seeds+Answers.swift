import Foundation
import OAuth2
import SharedStores
import TokenGeneration

extension Seeds {
    /// The folder of a pod's service account, with a token that is valid in 2010.
    static let serviceAccountFolder: String = {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "fuzz-\(ProcessInfo.processInfo.processIdentifier)"
        )
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try? Data(vector.token.utf8).write(to: folder.appending(path: "token"))
        try? Data("default".utf8).write(to: folder.appending(path: "namespace"))
        return folder.path
    }()

    static let storeURL = URL(string: "https://store.example")

    static func etcdCluster(_ transport: FuzzTransport) -> EtcdCluster? {
        storeURL.flatMap { url in
            try? EtcdCluster(
                endpoints: [url],
                transport: transport,
                timeout: .seconds(100),
                timeSource: FuzzWorld.time
            )
        }
    }

    static func etcdStore(_ transport: FuzzTransport) -> EtcdTokenStore? {
        etcdCluster(transport).map { EtcdTokenStore($0, keys: recordKeys) }
    }

    private static let head = """
        200 OK
        Content-Type: application/json
        Cache-Control: max-age=99999999999999999999
        Age: 1
        Date: Fri, 01 Jan 2010 00:00:00 GMT
        Expires: Fri, 31 Dec 9999 23:59:59 GMT
        ETag: "a"


        """

    private static let failure = """
        503 Service Unavailable
        Retry-After: 99999999999999999999
        Date: Fri, 01 Jan 2010 00:00:00 GMT

        {"error":"temporarily_unavailable","error_description":"later"}
        """

    private static let jwt = vector.token

    private static let bodies: [(FuzzTarget, [String])] = [
        (
            .answerToken,
            [
                #"{"access_token":"a","token_type":"Bearer","expires_in":1e22,"refresh_token":"r","scope":"a b"}"#,
                #"{"access_token":"a","token_type":"N_A","expires_in":"1e300","issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}"#,
                #"{"error":"invalid_grant","error_description":"no"}"#,
            ]
        ),
        (
            .answerIntrospection,
            [
                #"{"active":true,"aud":"https://api.example","sub":"ada","exp":1e22,"iat":-1e22,"nbf":0.5,"scope":"a b"}"#,
                #"{"active":true,"aud":["https://api.example"],"exp":9223372036854775807,"cnf":{"jkt":"x"},"token_type":"Bearer"}"#,
                #"{"active":false}"#,
            ]
        ),
        (
            .answerMetadata,
            [
                #"{"issuer":"https://as.example","token_endpoint":"https://as.example/token","jwks_uri":"https://as.example/keys","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.as.example/token"}}"#,
                #"{"resource":"https://api.example","authorization_servers":["https://as.example"],"scopes_supported":["a"]}"#,
            ]
        ),
        (.answerKeySet, [#"{"keys":[]}"#, JSONText.keySet]),
        (
            .answerDevice,
            [
                #"{"device_code":"d","user_code":"ABCD-EFGH","verification_uri":"https://as.example/device","verification_uri_complete":"https://as.example/device?user_code=A","expires_in":1e22,"interval":1e300}"#
            ]
        ),
        (.answerCIBA, [#"{"auth_req_id":"a","expires_in":1e22,"interval":9223372036854775807}"#]),
        (
            .answerRegistration,
            [
                #"{"client_id":"c","client_secret":"s","client_secret_expires_at":1e300,"registration_access_token":"t","registration_client_uri":"https://as.example/register/c","redirect_uris":["https://app.example/"]}"#
            ]
        ),
        (
            .answerCloud,
            [
                #"{"access_token":"a","token_type":"Bearer","expires_in":"1e22","expires_on":"99999999999999999999"}"#,
                #"{"accessToken":"a","expireTime":"9999-12-31T23:59:59.999999999Z"}"#,
                #"{"auth":{"client_token":"t","lease_duration":9223372036854775807,"renewable":true,"token_type":"service"}}"#,
                #"{"value":"\#(jwt)"}"#, #"{"status":{"token":"\#(jwt)"}}"#,
            ]
        ),
        (
            .answerEtcd,
            [
                #"{"header":{"revision":"9223372036854775807"},"kvs":[{"key":"aw==","mod_revision":"9223372036854775807","value":"e30="}],"count":"1"}"#,
                #"{"header":{"revision":"2"},"succeeded":true,"responses":[{"response_put":{}}]}"#,
                #"{"header":{"revision":"2"},"responses":[{"response_range":{"kvs":[{"mod_revision":2}]}}]}"#,
                #"{"error":"etcdserver: no leader","code":14}"#,
            ]
        ),
        (
            .answerVault,
            [
                #"{"data":{"data":{"record":"e30="},"metadata":{"version":9223372036854775807}}}"#,
                #"{"data":{"version":2}}"#, #"{"errors":[]}"#,
                #"{"errors":["check-and-set parameter did not match the current version"]}"#,
            ]
        ),
        (
            .answerConsul,
            [
                #"[{"Key":"k","Value":"e30=","ModifyIndex":9223372036854775807,"CreateIndex":1,"Flags":0}]"#, "true",
                "false",
                #"[{"Value":null,"ModifyIndex":1e99}]"#,
            ]
        ),
        (
            .answerKubernetes,
            [
                #"{"kind":"Secret","metadata":{"name":"token-","resourceVersion":"18446744073709551615"},"data":{"record":"e30="}}"#,
                #"{"kind":"Status","status":"Success"}"#,
                #"{"kind":"Status","reason":"NotFound","details":{"kind":"secrets"},"code":404}"#,
            ]
        ),
    ]

    /// The seeds of each kind of answer, and of the target that has them all.
    static func answerSeeds() -> [FuzzTarget: [Data]] {
        var seeds: [FuzzTarget: [Data]] = [:]
        for (target, bodies) in bodies {
            var texts = bodies + bodies.map { head + $0 } + [failure]
            // The first byte chooses the platform.
            if target == .answerCloud { texts = texts.flatMap { text in (0..<6).map { "\($0)\(text)" } } }
            seeds[target] = texts.map { Data($0.utf8) }
        }
        for (index, target) in FuzzTarget.answers.enumerated() {
            seeds[.answer, default: []] += (seeds[target] ?? []).map { Data([UInt8(index)]) + $0 }
        }
        return seeds
    }

    private enum JSONText {
        static let keySet = #"{"keys":[\#(vector.key.publicPart.members.serialized())]}"#
    }
}
