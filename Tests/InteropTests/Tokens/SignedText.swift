import Foundation
import TokenGeneration

/// A token with a valid signature and any header and payload, which `JWTGenerator` can't create.
enum SignedText {
    static func token(header: String, payload: String, service: ES256SigningService) throws -> String {
        let input = base64URL(Data(header.utf8)) + "." + base64URL(Data(payload.utf8))
        return try input + "." + base64URL(service.sign(data: Data(input.utf8)))
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns the bytes that a lenient decoder reads, without padding and invalid characters.
    static func octets(_ text: Substring) -> Data? {
        let digits = String(text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            .replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: digits + String(repeating: "=", count: (4 - digits.count % 4) % 4))
    }
}
