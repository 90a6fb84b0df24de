import Foundation
import TokenGeneration

/// A case of encrypted tokens with A256GCM, called as in the documentation.
struct EncryptionCase: Sendable {
    let name: String
    /// The hash of RSA OAEP, or `nil`.
    let hash: String?
    let key: DecryptionKey
    let plaintext: Data
    let token: String
    private let decrypter: JWEDecrypter

    static let names = [
        "RSA-OAEP-256", "ECDH-ES+A256KW P-256", "ECDH-ES+A256KW X25519", "dir 256 B", "dir 64 KB",
    ]

    init(_ name: String) throws {
        self.name = name
        switch name {
        case "RSA-OAEP-256": key = try DecryptionKey.generate(.rsaOAEP256)
        case "ECDH-ES+A256KW P-256": key = try DecryptionKey.generate(.ecdhESA256KW)
        case "ECDH-ES+A256KW X25519": key = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
        default: key = try DecryptionKey.generate(.dir)
        }
        hash = key.algorithm == .rsaOAEP256 ? "SHA256" : nil
        plaintext = Data(repeating: 0x5A, count: name == "dir 64 KB" ? 65_536 : 256)
        token = try key.encryptionKey.encrypt(plaintext)
        let policy = DecryptionPolicy(algorithms: [key.algorithm], encryptions: [.a256GCM])
        decrypter = JWEDecrypter(key: key, policy: policy)
    }

    var encryption: Side {
        Side { times in
            for _ in 0..<times { use(try encrypt()) }
        }
    }

    var decryption: Side {
        Side { times in
            for _ in 0..<times { use(try decrypt()) }
        }
    }

    @inline(never)
    func encrypt() throws -> String {
        try key.encryptionKey.encrypt(plaintext)
    }

    @inline(never)
    func decrypt() throws -> Data {
        try decrypter.decrypt(compact: token).plaintext
    }
}
