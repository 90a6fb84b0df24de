import Foundation
import FoundationNetworking
import HTTPSignatures
import Networking
import OAuth2
import Testing
import TokenGeneration

/// http-message-signatures, as a server and as a client: `Tests/Interop/signature_peer.py`.
enum SignaturePeer {
    /// The owner of a key.
    enum Owner: String { case client, server }

    static let algorithms: [JWSAlgorithm] = [.ed25519, .es256, .es384, .ps512, .rs256, .hs256]

    /// Returns a key that both sides know, with its ID.
    static func key(_ algorithm: JWSAlgorithm, of owner: Owner) throws -> SigningKey {
        let file = URL(filePath: try Interop.required("INTEROP_FOLDER") + "/signature-keys")
        let stored = try JSONDecoder().decode([String: [String: StoredKey]].self, from: Data(contentsOf: file))
        let name = try self.name(of: algorithm)
        let key = try #require(stored[owner.rawValue]?[name])
        let loaded: SigningKey
        if let pem = key.pem {
            loaded = try SigningKey(pem: pem, algorithm: algorithm)
        } else {
            let secret = try #require(key.secret.flatMap { Data(base64Encoded: $0) })
            loaded = try SigningKey(secret: secret, algorithm: algorithm)
        }
        return loaded.identified(by: "\(owner.rawValue)-\(name)")
    }

    /// Returns the algorithm's name in `alg`, which is also the last part of a path.
    static func name(of algorithm: JWSAlgorithm) throws -> String { try #require(algorithm.httpSignatureName) }

    private struct StoredKey: Decodable {
        let pem: String?
        let secret: String?
    }
}

// MARK: The peer's server

extension SignaturePeer {
    /// A request as the peer's server received it, with the peer's verdict.
    struct Record: Decodable, Sendable {
        let accepted: Bool
        let reason: String
        let covered: [String]
        let method: String
        let target: String
        let headers: [[String]]
        let body: Data

        /// Returns all values of a field.
        func values(_ name: String) -> [String] {
            headers.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
        }

        /// Returns the message for a server that clients know by an origin and a request target.
        func message(target: String, at origin: String) throws -> HTTPMessage {
            HTTPMessage(
                method: try #require(HTTPMethod(method)),
                target: target,
                at: origin,
                headers: HTTPHeaders(headers.map { HTTPHeaders.Field(name: $0[0], value: $0[1]) })
            )
        }
    }

    /// Sends a request, and returns what the server reports with any status.
    static func record(_ client: NetworkClient, _ request: URLRequest) async throws -> Record {
        let body: Data
        do {
            body = try await client.makeRequest(request)
        } catch let error as ServerError where error.errorCode == 401 {
            body = try #require(error.response)
        }
        return try JSONDecoder().decode(Record.self, from: body)
    }

    /// Returns the code with which our verifier rejects a message, or `nil` if it accepts it.
    static func rejection(
        of message: HTTPMessage,
        body: Data,
        _ profile: SignatureProfile,
        _ algorithm: JWSAlgorithm
    ) async throws -> HTTPSignatureError.Code? {
        let verifier = try MessageVerifier(
            profile: profile,
            keys: SignatureKeys(key(algorithm, of: .client).verificationKey),
            replayCache: InMemoryReplayCache()
        )
        do {
            _ = try await verifier.verify(message, body: body)
            return nil
        } catch {
            return error.code
        }
    }
}

// MARK: The peer's client

extension SignaturePeer {
    /// A request that the peer signs, changes and sends.
    struct Order: Encodable, Sendable {
        var url: String
        var method = "GET"
        var headers: [[String]] = []
        var body = Data()
        var algorithm = ""
        var components: [String] = []
        var change: String?
    }

    /// The response to a request of the peer.
    struct Answer: Decodable, Sendable {
        let status: Int
        let body: Data
        /// The reason for which the peer itself rejects the request that it sent, or empty.
        let own: String
        /// The reason for which the peer rejects the response, or empty.
        let reason: String
    }

    static func send(_ order: Order) async throws -> Answer {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [
                Interop.file("signature_peer.py"), "send", Interop.required("INTEROP_FOLDER") + "/signature-keys",
                Interop.required("INTEROP_AUTHORITY"),
            ],
            input: String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
        )
        try #require(process.status == 0, "the peer failed: \(process.errors.suffix(2000))")
        return try JSONDecoder().decode(Answer.self, from: Data(process.output.utf8))
    }
}
