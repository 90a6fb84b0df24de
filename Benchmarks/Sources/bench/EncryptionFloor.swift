import CFloor
import Foundation
import TokenGeneration

/// OpenSSL alone with the key and the parts of an encrypted token.
// reason: the pointer is set once, and each thread has its own instance.
final class EncryptionFloor: @unchecked Sendable {
    private let recipient: OpaquePointer
    private let header: [UInt8]
    private let encryptedKey: [UInt8]
    private let point: [UInt8]
    private let info: [UInt8]
    private let vector: [UInt8]
    private let tag: [UInt8]
    private let ciphertext: [UInt8]
    private let plaintext: [UInt8]

    init(_ encryption: EncryptionCase) throws {
        let segments = encryption.token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let octets = segments.map(Self.decode)
        (encryptedKey, vector, ciphertext, tag) = (octets[1], octets[2], octets[3], octets[4])
        header = Array(segments[0].utf8)
        plaintext = Array(encryption.plaintext)
        let agreed = try UnverifiedJWE(compact: encryption.token).unverifiedProtectedHeader["epk"]?.object
        let x = Self.decode(agreed?["x"]?.string ?? "")
        let y = agreed?["y"]?.string.map(Self.decode)
        point = y.map { [4] + x + $0 } ?? x
        // RFC 7518 §4.6.2: the algorithm, two empty names and the size of the key in bits.
        let name = Array(encryption.key.algorithm.rawValue.utf8)
        info = [0, 0, 0, UInt8(name.count)] + name + [UInt8](repeating: 0, count: 8) + [0, 0, 1, 0]
        let pointer: OpaquePointer? =
            if encryption.key.algorithm == .dir {
                floor_decrypter_from_secret(Self.decode(try encryption.key.privateJWK().members["k"]?.string ?? ""))
            } else {
                try encryption.key.pem().withCString { pem in
                    floor_decrypter_from_pem(pem, Int32(strlen(pem)), encryption.hash)
                }
            }
        guard let pointer else { throw Floor.Failure(text: "OpenSSL rejected the \(encryption.name) key.") }
        recipient = pointer
    }

    deinit {
        floor_decrypter_free(recipient)
    }

    var encryption: Side { Side { times in try self.run(times, on: self.plaintext, floor_encrypt) } }
    var decryption: Side { Side { times in try self.run(times, on: self.ciphertext, floor_decrypt) } }

    private func run(
        _ times: Int,
        on text: [UInt8],
        _ function: (OpaquePointer?, UnsafePointer<floor_message>?, UnsafeMutablePointer<UInt8>?, Int) -> Int32
    ) throws {
        var output = [UInt8](repeating: 0, count: text.count)
        let status = withBuffers { buffers in
            text.withUnsafeBufferPointer { text in
                var message = buffers
                (message.text, message.text_size) = (text.baseAddress, text.count)
                return function(recipient, &message, &output, times)
            }
        }
        guard status == 1 else { throw Floor.Failure(text: "OpenSSL failed to encrypt or decrypt.") }
        use(output)
    }

    private func withBuffers(_ body: (floor_message) -> Int32) -> Int32 {
        encryptedKey.withUnsafeBufferPointer { key in
            point.withUnsafeBufferPointer { point in
                info.withUnsafeBufferPointer { info in
                    vector.withUnsafeBufferPointer { vector in
                        tag.withUnsafeBufferPointer { tag in
                            header.withUnsafeBufferPointer { header in
                                var message = floor_message()
                                (message.key, message.key_size) = (key.baseAddress, key.count)
                                (message.point, message.point_size) = (point.baseAddress, point.count)
                                (message.info, message.info_size) = (info.baseAddress, info.count)
                                (message.vector, message.tag) = (vector.baseAddress, tag.baseAddress)
                                (message.context, message.context_size) = (header.baseAddress, header.count)
                                return body(message)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Decodes base64url.
    private static func decode(_ text: String) -> [UInt8] {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).map { [UInt8]($0) } ?? []
    }
}
