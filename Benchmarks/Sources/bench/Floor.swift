import CFloor
import TokenGeneration

/// OpenSSL alone, with the same key and the same bytes.
// reason: the pointer is set once, and each thread has its own instance.
final class Floor: @unchecked Sendable {
    struct Failure: Error {
        let text: String
    }

    private let key: OpaquePointer
    private let message: [UInt8]
    private let signature: [UInt8]

    /// Creates a key whose message is the signing input of a token.
    init(_ algorithm: TokenAlgorithm, _ material: KeyMaterial, token: String) throws {
        let pointer =
            if material.secret.isEmpty {
                material.pem.withCString { pem in
                    floor_key_from_pem(
                        pem,
                        Int32(material.pem.utf8.count),
                        algorithm.floor.hash,
                        algorithm.floor.isPSS ? 1 : 0
                    )
                }
            } else {
                floor_key_from_secret(material.secret, material.secret.count, algorithm.floor.hash)
            }
        guard let pointer else { throw Failure(text: "OpenSSL rejected the \(algorithm.name) key.") }
        guard let end = token.utf8.lastIndex(of: UInt8(ascii: ".")) else { throw Failure(text: "no signature") }
        message = Array(token.utf8[..<end])
        key = pointer
        signature = try Self.sign(message, with: key, times: 1)
    }

    /// Creates an Ed25519 key for any message.
    init(pem: String, message: [UInt8]) throws {
        let pointer = pem.withCString { floor_key_from_pem($0, Int32(pem.utf8.count), nil, 0) }
        guard let pointer else { throw Failure(text: "OpenSSL rejected the key.") }
        key = pointer
        self.message = message
        signature = try Self.sign(message, with: key, times: 1)
    }

    /// Creates a key of HMAC-SHA256 for any message.
    init(secret: [UInt8], message: [UInt8]) throws {
        guard let pointer = floor_key_from_secret(secret, secret.count, "SHA256") else {
            throw Failure(text: "OpenSSL rejected the secret.")
        }
        key = pointer
        self.message = message
        signature = try Self.sign(message, with: key, times: 1)
    }

    deinit {
        floor_key_free(key)
    }

    var signing: Side { Side { times in try self.sign(times: times) } }
    var verification: Side { Side { times in try self.verify(times: times) } }

    func sign(times: Int) throws {
        use(try Self.sign(message, with: key, times: times))
    }

    func verify(times: Int) throws {
        guard floor_verify(key, message, message.count, signature, signature.count, times) == 1 else {
            throw Failure(text: "OpenSSL rejected its own signature.")
        }
    }

    private static func sign(_ message: [UInt8], with key: OpaquePointer, times: Int) throws -> [UInt8] {
        // ML-DSA-87 has the longest signatures.
        var signature = [UInt8](repeating: 0, count: 4627)
        var size = signature.count
        guard floor_sign(key, message, message.count, &signature, &size, times) == 1 else {
            throw Failure(text: "OpenSSL failed to sign.")
        }
        return Array(signature[..<size])
    }
}
