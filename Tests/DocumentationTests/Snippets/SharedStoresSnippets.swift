import Foundation
import Networking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration

/// The samples of the SharedStores catalog.
@Suite("Shared store samples", .limitedConcurrency)
struct SharedStoresSnippets {
    @Test("Creates a store in an etcd cluster, which hosts share")
    func etcd() throws {
        let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        #expect(try makeStore(password: Secret("s3cret"), key: key).isSharedByHosts)
        #expect(throws: OAuth2Error(.storeFailed, "")) {
            try makeStore(password: Secret("s3cret"), key: Secret("short"))
        }
    }

    @Test("Creates a store of each vendor, which hosts share")
    func vendors() throws {
        let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        #expect(try makeConsulStore(key: key).isSharedByHosts)
        #expect(try makeVaultStore(key: key).isSharedByHosts)
        // Not in a pod.
        #expect(throws: OAuth2Error(.storeFailed, "")) { try makeKubernetesStore(key: key) }
    }

    @Test("Creates a store on an HTTP server and a replay cache, which hosts share")
    func others() throws {
        let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        let authenticator = OAuth2Authenticator(
            server: AuthorizationServer(
                issuer: "https://as.example",
                tokenEndpoint: URL(string: "https://as.example/token")!
            ),
            clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        #expect(try makeHTTPStore(key: key, authenticator: authenticator).isSharedByHosts)
        #expect(throws: OAuth2Error(.storeFailed, "")) {
            try makeHTTPStore(key: Secret("short"), authenticator: authenticator)
        }
        _ = try makeRing(try EtcdCluster(endpoints: [URL(string: "http://127.0.0.1:2379")!]), key: key)
        _ = makeProofVerifier(try EtcdCluster(endpoints: [URL(string: "http://127.0.0.1:2379")!]))
    }

    @Test("Signs with a ring's key, and publishes it")
    func ring() async throws {
        let ring = try SigningKeyRing()
        let token = try await issueToken(for: "ada", ring)
        var response = HTTPTransportResponse(status: 200)
        do {
            let document = try await ring.document()
            response.headers = document.headers
            response.body = document.body
        }
        #expect(response.headers["Content-Type"] == "application/jwk-set+json")
        let policy = ValidationPolicy(issuer: "https://id.example", audience: "https://api.example")
        let verifier = JWTVerifier(keys: try JWKSet(parsing: response.body), policy: policy)
        #expect(try verifier.verify(token).claims["sub"] == "ada")
    }
}

func makeRing(_ cluster: EtcdCluster, key: Secret) throws -> SigningKeyRing {
    let keys = try RecordKeys(sealing: key)
    return try SigningKeyRing(
        EtcdTokenStore(cluster, prefix: "/keys/", keys: keys)
    )
}

func issueToken(for user: String, _ ring: SigningKeyRing) async throws -> String {
    var claims = RegisteredClaims(
        issuer: "https://id.example",
        subject: user,
        audience: ["https://api.example"]
    )
    claims.setTimes(lifetime: .seconds(300))
    return try await ring.sign(claims)
}

func makeHTTPStore(key: Secret, authenticator: any URLRequestAuthenticator) throws -> HTTPTokenStore {
    try HTTPTokenStore(
        URL(string: "https://storage.example/tokens")!,
        keys: RecordKeys(sealing: key),
        authenticator: authenticator
    )
}

func makeConsulStore(key: Secret) throws -> ConsulTokenStore {
    let agent = try ConsulAgent(
        URL(string: "https://consul.example:8501")!,
        token: .file("/run/secrets/consul-token")
    )
    return try ConsulTokenStore(agent, keys: RecordKeys(sealing: key))
}

func makeVaultStore(key: Secret) throws -> VaultTokenStore {
    let server = try VaultServer(
        URL(string: "https://vault.example:8200")!,
        token: .file("/run/vault/token")
    )
    return try VaultTokenStore(
        server,
        mount: "secret",
        path: "reports/tokens",
        keys: RecordKeys(sealing: key)
    )
}

func makeKubernetesStore(key: Secret) throws -> KubernetesTokenStore {
    // The address, token, roots and namespace of the pod.
    let namespace = try KubernetesNamespace()
    return try KubernetesTokenStore(namespace, keys: RecordKeys(sealing: key))
}

func makeProofVerifier(_ cluster: EtcdCluster) -> DPoPVerifier {
    DPoPVerifier(replayCache: EtcdReplayCache(cluster, fallback: InMemoryReplayCache()))
}

func makeStore(password: Secret, key: Secret) throws -> EtcdTokenStore {
    let cluster = try EtcdCluster(
        endpoints: [
            URL(string: "https://etcd-1.example:2379")!,
            URL(string: "https://etcd-2.example:2379")!,
            URL(string: "https://etcd-3.example:2379")!,
        ],
        user: "reports",
        password: password
    )
    return EtcdTokenStore(cluster, keys: try RecordKeys(sealing: key))
}
